"""The verdicts of Confluent's registry on pairs of schemas, beside ours."""
