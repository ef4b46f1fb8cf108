import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * HDFS and YARN on loopback: one name node, one data node, one resource manager, one node manager.
 *
 * <p>Its configuration goes into the folder {@code conf} below the one it is given, and a line {@code READY} to its
 * standard output. It ends when its standard input does.
 */
public final class Minicluster {
    private static final String[] FILES = {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"};

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Configuration settings = new Configuration();
        settings.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
        settings.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        settings.setInt("yarn.scheduler.minimum-allocation-mb", 256);
        settings.setInt("yarn.nodemanager.resource.memory-mb", 6144);
        settings.setInt("yarn.nodemanager.resource.cpu-vcores", 8);
        settings.setFloat("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 99.9f);

        MiniDFSCluster files = new MiniDFSCluster.Builder(settings, folder.resolve("dfs").toFile()).build();
        files.waitActive();
        MiniYARNCluster yarn = new MiniYARNCluster("delta", 1, 1, 1);
        yarn.init(settings);
        yarn.start();
        Configuration clients = yarn.getConfig();
        clients.unset("net.topology.node.switch.mapping.impl"); // a class of Hadoop's tests, which Spark lacks
        Path configuration = Files.createDirectories(folder.resolve("conf"));
        for (String name : FILES) {
            try (OutputStream output = Files.newOutputStream(configuration.resolve(name))) {
                clients.writeXml(output);
            }
        }
        System.out.println("READY");
        while (System.in.read() >= 0) {}
        yarn.stop();
        files.shutdown();
        System.exit(0);
    }
}
