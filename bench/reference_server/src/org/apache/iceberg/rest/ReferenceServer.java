// In the fixtures' package, because the adapter's constructor is open to it alone.
package org.apache.iceberg.rest;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.eclipse.jetty.compression.gzip.GzipCompression;
import org.eclipse.jetty.compression.server.CompressionHandler;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Serves the Iceberg project's own REST catalog on loopback, as the peer that benchmarks measure
 * against. The fixtures' main class would listen on every interface.
 *
 * <p>Usage: ReferenceServer PORT key=value... where the pairs are catalog properties.
 */
public final class ReferenceServer {
  private ReferenceServer() {}

  public static void main(String[] args) throws Exception {
    Map<String, String> properties = catalogProperties(args);
    Catalog catalog =
        CatalogUtil.buildIcebergCatalog("reference", properties, new Configuration());
    var adapter =
        new RESTServerCatalogAdapter(new RESTCatalogServer.CatalogContext(catalog, properties));
    Server server = new Server();
    ServerConnector loopback = new ServerConnector(server);
    loopback.setHost("127.0.0.1");
    loopback.setPort(Integer.parseInt(args[0]));
    server.addConnector(loopback);
    server.setHandler(routes(adapter));
    server.start();
    server.join();
  }

  private static Map<String, String> catalogProperties(String[] args) {
    Map<String, String> properties = new HashMap<>();
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    properties.put("jdbc.schema-version", "V1");
    for (int i = 1; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      if (pair.length != 2) throw new IllegalArgumentException("not key=value: " + args[i]);
      properties.put(pair[0], pair[1]);
    }
    return properties;
  }

  private static ServletContextHandler routes(RESTServerCatalogAdapter adapter) {
    var context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    var compression = new CompressionHandler();
    compression.putCompression(new GzipCompression());
    context.insertHandler(compression);
    return context;
  }
}
