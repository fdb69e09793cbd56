/** For Node.js: `connect("http://127.0.0.1:8080")`. */

import { createConnectTransport } from "@connectrpc/connect-node";

import { authorized } from "./access.ts";
import { Client } from "./client.ts";

export function connect(url: string, options: { token?: string } = {}): Client {
  const interceptors = authorized(options.token);
  return new Client(createConnectTransport({ baseUrl: url, httpVersion: "1.1", interceptors }));
}
