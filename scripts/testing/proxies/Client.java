// See pauses.py. Each connection is a client of its own with Java's settings, over HTTP/1.1. Its command line is read without a library.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Client {
    private static final List<String> lost = Collections.synchronizedList(new ArrayList<>());
    private static final AtomicInteger answered = new AtomicInteger();

    private static String text(String json, String name) {
        var found = Pattern.compile('"' + name + "\": \"([^\"]*)\"").matcher(json);
        if (!found.find()) throw new IllegalArgumentException(name);
        return found.group(1);
    }

    private static void login(HttpClient client, String about) {
        byte[] nonce = new byte[16];
        new SecureRandom().nextBytes(nonce);
        String body = "{\"handle\":\"" + text(about, "handle") + "\",\"audience\":\"" + text(about, "audience") + "\",\"embedding\":\""
            + text(about, "embedding") + "\",\"attestation\":\"none\",\"nonce\":\"" + HexFormat.of().formatHex(nonce)
            + "\",\"issued_at\":" + System.currentTimeMillis() / 1000 + "}";
        var request = HttpRequest.newBuilder(URI.create(text(about, "url")))
            .header("Authorization", "Bearer " + text(about, "key"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        try {
            String said = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
            if (!said.contains("\"decision\":\"match\"")) throw new java.io.IOException(said);
            answered.incrementAndGet();
        } catch (java.io.IOException | InterruptedException error) {
            lost.add(error.toString().replace('"', '\'').replace('\n', ' '));
        }
    }

    public static void main(String[] arguments) throws Exception {
        String about = arguments[0];
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var file = new FileInputStream(text(about, "ca"))) {
            store.setCertificateEntry("service", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        var tls = SSLContext.getInstance("TLS");
        tls.init(null, trust.getTrustManagers(), null);
        List<Thread> running = new ArrayList<>();
        var lists = Pattern.compile("\\[([0-9., ]+)\\]").matcher(about);
        while (lists.find()) {
            String[] pauses = lists.group(1).split(", ");
            var thread = new Thread(() -> {
                var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(tls).build();
                login(client, about);
                for (String seconds : pauses) {
                    try {
                        Thread.sleep((long) (1000 * Double.parseDouble(seconds)));
                    } catch (InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                    login(client, about);
                }
            });
            thread.start();
            running.add(thread);
        }
        for (var thread : running) thread.join();
        System.out.println("{\"answered\": " + answered + ", \"lost\": ["
            + String.join(", ", lost.stream().map(why -> '"' + why.replace("\\", "") + '"').toList()) + "]}");
    }
}
