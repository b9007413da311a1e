import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.zarr.zarrjava.core.Array;
import dev.zarr.zarrjava.store.FilesystemStore;
import dev.zarr.zarrjava.store.StoreHandle;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import ucar.ma2.DataType;

/** Reads and writes arrays with zarr-java, one request after the other; see programs.py for what they look like. */
public class Interop {
    static final ObjectMapper JSON = new ObjectMapper();

    /** The elements of an array in C order and in the machine's byte order. */
    static byte[] bytesOf(ucar.ma2.Array array) {
        Object elements = array.copyTo1DJavaArray();
        int each = DataType.getType(array.getElementType(), array.isUnsigned()).getSize();
        ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(array.getSize() * each)).order(ByteOrder.nativeOrder());
        if (elements instanceof boolean[]) {
            for (boolean element : (boolean[]) elements) out.put((byte) (element ? 1 : 0));
        } else if (elements instanceof byte[]) {
            out.put((byte[]) elements);
        } else if (elements instanceof short[]) {
            out.asShortBuffer().put((short[]) elements);
        } else if (elements instanceof int[]) {
            out.asIntBuffer().put((int[]) elements);
        } else if (elements instanceof long[]) {
            out.asLongBuffer().put((long[]) elements);
        } else if (elements instanceof float[]) {
            out.asFloatBuffer().put((float[]) elements);
        } else {
            out.asDoubleBuffer().put((double[]) elements);
        }
        return out.array();
    }

    static ucar.ma2.Array arrayOf(DataType type, int[] shape, byte[] bytes) {
        if (type != DataType.BOOLEAN) {
            return ucar.ma2.Array.factory(type, shape, ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()));
        }
        ucar.ma2.Array array = ucar.ma2.Array.factory(type, shape);
        for (int i = 0; i < bytes.length; i++) array.setBoolean(i, bytes[i] != 0);
        return array;
    }

    static Array create(StoreHandle handle, JsonNode document) throws Exception {
        if (document.get("zarr_format").asInt() == 2) {
            ObjectMapper mapper = dev.zarr.zarrjava.v2.Node.makeObjectMapper();
            return dev.zarr.zarrjava.v2.Array.create(handle, mapper.treeToValue(document, dev.zarr.zarrjava.v2.ArrayMetadata.class));
        }
        ObjectMapper mapper = dev.zarr.zarrjava.v3.Node.makeObjectMapper();
        return dev.zarr.zarrjava.v3.Array.create(handle, mapper.treeToValue(document, dev.zarr.zarrjava.v3.ArrayMetadata.class));
    }

    /** Does what a request asks for, notes the shape of what it reads, and returns its elements. */
    static byte[] answer(JsonNode request, byte[] elements, ObjectNode header) throws Exception {
        StoreHandle handle = new FilesystemStore(request.get("store").asText()).resolve(request.get("path").asText().split("/"));
        if (request.get("what").asText().equals("read")) {
            ucar.ma2.Array found = Array.open(handle).read();
            header.set("shape", JSON.valueToTree(found.getShape()));
            return bytesOf(found);
        }
        Array array = create(handle, request.get("document"));
        int[] shape = JSON.treeToValue(request.get("document").get("shape"), int[].class);
        array.write(arrayOf(array.metadata().dataType().getMA2DataType(), shape, elements));
        return new byte[0];
    }

    static String readLine(DataInputStream input) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int c = input.read(); c != '\n'; c = input.read()) {
            if (c < 0) return null;
            line.write(c);
        }
        return new String(line.toByteArray(), StandardCharsets.UTF_8);
    }

    public static void main(String[] args) throws IOException {
        DataInputStream input = new DataInputStream(System.in);
        OutputStream output = new BufferedOutputStream(System.out);
        System.setOut(new PrintStream(System.err)); // a library may log
        for (String line = readLine(input); line != null; line = readLine(input)) {
            JsonNode request = JSON.readTree(line);
            byte[] elements = new byte[request.get("size").asInt()];
            input.readFully(elements);
            ObjectNode header = JSON.createObjectNode();
            try {
                elements = answer(request, elements, header);
            } catch (Exception | LinkageError err) {
                header.put("error", err.toString());
                elements = new byte[0];
            }
            header.put("size", elements.length);
            output.write((JSON.writeValueAsString(header) + "\n").getBytes(StandardCharsets.UTF_8));
            output.write(elements);
            output.flush();
        }
    }
}
