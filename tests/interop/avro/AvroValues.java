import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericEnumSymbol;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.DecoderFactory;

/**
 * Answers each line of standard input, schemas of a writer and a reader and data, with the value, as
 * tests/schemas/messages/avro/resolution_cases.py shows it.
 */
public class AvroValues {
    public static void main(String[] arguments) throws Exception {
        GenericData data = new GenericData();
        data.addLogicalTypeConversion(new Conversions.DecimalConversion());
        data.addLogicalTypeConversion(new Conversions.UUIDConversion());
        data.addLogicalTypeConversion(new TimeConversions.DateConversion());
        data.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
        data.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
        data.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
        data.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
        data.addLogicalTypeConversion(new TimeConversions.LocalTimestampMillisConversion());
        data.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = questions.readLine()) != null) {
            System.out.println(answer(data, line.split("\t", -1)));
            System.out.flush();
        }
    }

    private static String answer(GenericData data, String[] fields) {
        try {
            Schema writer = new Schema.Parser().parse(fields[0]);
            Schema reader = new Schema.Parser().parse(fields[1]);
            byte[] bytes = new byte[fields[2].length() / 2];
            for (int at = 0; at < bytes.length; at++) {
                bytes[at] = (byte) Integer.parseInt(fields[2].substring(2 * at, 2 * at + 2), 16);
            }
            GenericDatumReader<Object> reading = new GenericDatumReader<>(writer, reader, data);
            return shown(reading.read(null, DecoderFactory.get().binaryDecoder(bytes, null)));
        } catch (Exception error) {
            return "error";
        }
    }

    private static String shown(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            return String.valueOf(value);
        }
        if (value instanceof Float || value instanceof Double) {
            return String.format("f%016x", Double.doubleToLongBits(((Number) value).doubleValue()));
        }
        if (value instanceof CharSequence || value instanceof GenericEnumSymbol) {
            return "s" + hex(value.toString().getBytes(StandardCharsets.UTF_8));
        }
        if (value instanceof ByteBuffer) {
            ByteBuffer buffer = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return "b" + hex(bytes);
        }
        if (value instanceof GenericFixed) {
            return "b" + hex(((GenericFixed) value).bytes());
        }
        return shownLogical(value);
    }

    private static String shownLogical(Object value) {
        if (value instanceof UUID) {
            return "u" + value;
        }
        if (value instanceof BigDecimal) {
            return "d" + ((BigDecimal) value).toPlainString();
        }
        if (value instanceof LocalDate) {
            return "D" + value;
        }
        if (value instanceof LocalTime) {
            return "T" + ((LocalTime) value).toNanoOfDay() / 1000;
        }
        if (value instanceof Instant) {
            return "I" + micros((Instant) value);
        }
        if (value instanceof LocalDateTime) {
            return "L" + micros(((LocalDateTime) value).toInstant(ZoneOffset.UTC));
        }
        return shownParts(value);
    }

    private static String shownParts(Object value) {
        List<String> parts = new ArrayList<>();
        if (value instanceof Collection) {
            for (Object item : (Collection<?>) value) {
                parts.add(shown(item));
            }
            return "[" + String.join(",", parts) + "]";
        }
        TreeMap<String, Object> entries = new TreeMap<>();
        if (value instanceof IndexedRecord) {
            for (Schema.Field field : ((IndexedRecord) value).getSchema().getFields()) {
                entries.put(field.name(), ((IndexedRecord) value).get(field.pos()));
            }
        } else {
            ((Map<?, ?>) value).forEach((name, item) -> entries.put(name.toString(), item));
        }
        entries.forEach((name, item) -> parts.add(name + "=" + shown(item)));
        return "{" + String.join(",", parts) + "}";
    }

    private static long micros(Instant time) {
        return Math.addExact(Math.multiplyExact(time.getEpochSecond(), 1_000_000L), time.getNano() / 1000);
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }
}
