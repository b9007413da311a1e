import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.io.Opener;
import ij.measure.Calibration;
import ij.plugin.FileInfoVirtualStack;
import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import loci.common.DebugTools;
import loci.common.services.ServiceFactory;
import loci.formats.FormatTools;
import loci.formats.ImageReader;
import loci.formats.meta.IMetadata;
import loci.formats.services.OMEXMLService;
import ome.units.quantity.Length;
import ome.units.quantity.Time;

/**
 * Opens images by ImageJ and by Bio-Formats.
 *
 * <p>The first line of standard output has the versions of both. Each line of standard input is
 * "imagej FILE" or "bioformats FILE", or "imagej-last FILE" and "bioformats-last FILE" for the values
 * of the last plane alone. The answer is a line, and then the values, as many bytes as its last
 * field says. The fields are separated by tabs: the type of NumPy; the lengths of T, C, Z,
 * Y and X; their steps, and their units, with "-" for those that the file does not say; the names
 * of the channels; the number of bytes. The values are in the order T, C, Z, Y, X. If the program
 * cannot open a file, the answer is "error" and its text.
 */
public final class Images {
  private static final String UNSAID = "-";

  /** What a program has found in a file. */
  private static final class Found {
    String type;
    int[] shape; // of T, C, Z, Y, X
    String[] steps = {UNSAID, UNSAID, UNSAID, UNSAID, UNSAID};
    String[] units = {UNSAID, UNSAID, UNSAID, UNSAID, UNSAID};
    List<String> channels = new ArrayList<>();
    ByteBuffer values;

    void allocate(int bytesOfElement, boolean isLast) {
      long bytes = bytesOfElement;
      for (int i = isLast ? 3 : 0; i < shape.length; i++) {
        bytes *= shape[i];
      }
      values = ByteBuffer.allocate(Math.toIntExact(bytes)).order(ByteOrder.LITTLE_ENDIAN);
    }

    String line() {
      List<String> lengths = new ArrayList<>();
      for (int n : shape) {
        lengths.add(Integer.toString(n));
      }
      return String.join("\t", type, String.join(",", lengths), String.join(",", steps),
          String.join(",", units), String.join(",", channels),
          Integer.toString(values.position()));
    }
  }

  private static Found byImageJ(String path, boolean isLast) {
    ImagePlus image =
        isLast ? FileInfoVirtualStack.openVirtual(path) : new Opener().openImage(path);
    if (image == null) {
      throw new IllegalArgumentException("ImageJ opens no image");
    }
    Found found = new Found();
    int channels = image.getNChannels(), slices = image.getNSlices(), frames = image.getNFrames();
    found.shape = new int[] {frames, channels, slices, image.getHeight(), image.getWidth()};
    Calibration scale = image.getCalibration();
    boolean signed = scale.isSigned16Bit();
    found.type = switch (image.getBitDepth()) {
      case 8 -> "u1";
      case 16 -> signed ? "<i2" : "<u2";
      case 32 -> "<f4";
      default -> throw new IllegalArgumentException(image.getBitDepth() + " bits");
    };
    found.allocate(image.getBitDepth() / 8, isLast);
    ImageStack stack = image.getStack();
    for (int t = isLast ? frames : 1; t <= frames; t++) {
      for (int c = isLast ? channels : 1; c <= channels; c++) {
        for (int z = isLast ? slices : 1; z <= slices; z++) {
          put(found.values, stack.getPixels(image.getStackIndex(c, z, t)), signed);
        }
      }
    }
    double[] steps = {scale.frameInterval, 0, scale.pixelDepth, scale.pixelHeight,
        scale.pixelWidth};
    String[] units = {scale.getTimeUnit(), "", scale.getZUnit(), scale.getYUnit(),
        scale.getXUnit()};
    for (int axis : new int[] {0, 2, 3, 4}) {
      found.steps[axis] = Double.toString(steps[axis]);
      found.units[axis] = units[axis];
    }
    return found;
  }

  private static void put(ByteBuffer values, Object pixels, boolean signed) {
    if (pixels instanceof byte[] bytes) {
      values.put(bytes);
    } else if (pixels instanceof short[] shorts) {
      for (short s : shorts) {
        values.putShort((short) (signed ? s - 32768 : s)); // ImageJ adds them to signed values
      }
    } else {
      for (float f : (float[]) pixels) {
        values.putFloat(f);
      }
    }
  }

  private static Found byBioFormats(String path, boolean isLast) throws Exception {
    IMetadata metadata =
        new ServiceFactory().getInstance(OMEXMLService.class).createOMEXMLMetadata();
    try (ImageReader reader = new ImageReader()) {
      reader.setGroupFiles(false);
      reader.setMetadataStore(metadata);
      reader.setId(path);
      Found found = new Found();
      if (reader.getSeriesCount() != 1) {
        throw new IllegalArgumentException(reader.getSeriesCount() + " images");
      }
      int width = reader.getSizeX(), height = reader.getSizeY();
      found.shape = new int[] {reader.getSizeT(), reader.getSizeC(), reader.getSizeZ(), height,
          width};
      String type = FormatTools.getPixelTypeString(reader.getPixelType());
      int size = FormatTools.getBytesPerPixel(reader.getPixelType());
      found.type = (size == 1 ? "|" : reader.isLittleEndian() ? "<" : ">")
          + (type.startsWith("u") ? "u" : type.startsWith("int") ? "i" : "f") + size;
      found.allocate(size, isLast);
      if (reader.getRGBChannelCount() != 1) {
        throw new IllegalArgumentException(reader.getRGBChannelCount() + " channels in a plane");
      }
      int frames = reader.getSizeT(), channels = reader.getSizeC(), slices = reader.getSizeZ();
      for (int t = isLast ? frames - 1 : 0; t < frames; t++) {
        for (int c = isLast ? channels - 1 : 0; c < channels; c++) {
          for (int z = isLast ? slices - 1 : 0; z < slices; z++) {
            found.values.put(reader.openBytes(reader.getIndex(z, c, t)));
          }
        }
      }
      Length[] lengths = {metadata.getPixelsPhysicalSizeZ(0), metadata.getPixelsPhysicalSizeY(0),
          metadata.getPixelsPhysicalSizeX(0)};
      for (int i = 0; i < lengths.length; i++) {
        if (lengths[i] != null) {
          found.steps[2 + i] = lengths[i].value().toString();
          found.units[2 + i] = lengths[i].unit().getSymbol();
        }
      }
      Time interval = metadata.getPixelsTimeIncrement(0);
      if (interval != null) {
        found.steps[0] = interval.value().toString();
        found.units[0] = interval.unit().getSymbol();
      }
      for (int c = 0; c < metadata.getChannelCount(0); c++) {
        String name = metadata.getChannelName(0, c);
        found.channels.add(name == null ? UNSAID : name);
      }
      return found;
    }
  }

  public static void main(String[] args) throws Exception {
    System.setProperty("java.awt.headless", "true");
    DebugTools.setRootLevel("OFF");
    DataOutputStream out = new DataOutputStream(System.out);
    System.setOut(System.err); // both programs print
    out.writeBytes(IJ.getVersion() + "\t" + FormatTools.VERSION + "\n");
    out.flush();
    BufferedReader in = new BufferedReader(
        new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String[] words = line.split(" ", 2);
      try {
        boolean isLast = words[0].endsWith("-last");
        Found found = words[0].startsWith("imagej") ? byImageJ(words[1], isLast)
            : byBioFormats(words[1], isLast);
        out.write((found.line() + "\n").getBytes(StandardCharsets.UTF_8));
        out.write(found.values.array(), 0, found.values.position());
      } catch (Throwable e) {
        String text = String.valueOf(e).replaceAll("\\s+", " ");
        out.write(("error\t" + text + "\n").getBytes(StandardCharsets.UTF_8));
      }
      out.flush();
    }
  }
}
