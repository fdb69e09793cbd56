/** For browsers: `connect("http://127.0.0.1:8080")`. */

import { createConnectTransport } from "@connectrpc/connect-web";

import { authorized } from "./access.ts";
import { Client } from "./client.ts";

export function connect(url: string, options: { token?: string } = {}): Client {
  return new Client(createConnectTransport({ baseUrl: url, interceptors: authorized(options.token) }));
}
