"""The console in Debian's Chromium: journeys, accessibility, widths, themes; the files of its pages."""
