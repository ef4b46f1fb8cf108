package airflow_delta_provider;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;

/** Copies files of a storage to this machine. Compiled by Janino, as Spark's own code is, which knows only old Java. */
public class FileCopies {

    /** Returns what a listing told of files, by their paths: with it, object stores need not be asked again. */
    public Map byPath(FileStatus[] listed) {
        Map statuses = new HashMap();
        for (int number = 0; number < listed.length; number++) {
            statuses.put(listed[number].getPath(), listed[number]);
        }
        return statuses;
    }

    /**
     * Copies files, many at once, one behind the other into a few: to create one for each takes longer than to copy it.
     *
     * @param paths   in lines
     * @param listed  what is known of files, see byPath; it may lack some
     * @param folder  where there is nothing yet; gets files named 0, 1, …, as many as {@code threads}
     * @param threads how many files are copied at once
     * @return for each path, in lines, the name of the file that has the copy, from which byte, and how many: -1 for
     *     one that could not be copied; whoever reads it alone meets the error again
     */
    public String copy(FileSystem storage, String paths, Map listed, File folder, int threads)
            throws Exception {
        String[] all = paths.split("\n");
        String[] copies = new String[all.length];
        AtomicInteger next = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List copying = new ArrayList();
            for (int name = 0; name < threads; name++) {
                copying.add(pool.submit((Callable) new Copier(storage, all, listed, copies, next, folder, name)));
            }
            for (int name = 0; name < threads; name++) {
                ((Future) copying.get(name)).get();
            }
        } finally {
            pool.shutdownNow();
        }
        return String.join("\n", copies);
    }

    /** Copies what no other has begun yet, into one file. */
    static class Copier implements Callable {
        final FileSystem storage;
        final String[] paths;
        final Map listed;
        final String[] copies;
        final AtomicInteger next;
        final File folder;
        final int name;

        Copier(
                FileSystem storage,
                String[] paths,
                Map listed,
                String[] copies,
                AtomicInteger next,
                File folder,
                int name) {
            this.storage = storage;
            this.paths = paths;
            this.listed = listed;
            this.copies = copies;
            this.next = next;
            this.folder = folder;
            this.name = name;
        }

        public Object call() throws IOException {
            FileOutputStream target = new FileOutputStream(new File(folder, "" + name));
            try {
                for (int number = next.getAndIncrement(); number < paths.length; number = next.getAndIncrement()) {
                    long start = target.getChannel().position();
                    boolean whole = append(paths[number], target);
                    long size = whole ? target.getChannel().position() - start : -1;
                    copies[number] = name + " " + start + " " + size;
                }
            } finally {
                target.close();
            }
            return null;
        }

        boolean append(String path, FileOutputStream target) {
            try {
                InputStream content = open(new Path(path));
                try {
                    IOUtils.copyBytes(content, target, 1 << 13, false);
                } finally {
                    content.close();
                }
                return true;
            } catch (Throwable error) {
                return false;
            }
        }

        InputStream open(Path path) throws Exception {
            FileStatus status = (FileStatus) listed.get(storage.makeQualified(path));
            if (status == null) {
                return storage.open(path);
            }
            CompletableFuture opening = (CompletableFuture) storage.openFile(path).withFileStatus(status).build();
            return (InputStream) opening.get();
        }
    }
}
