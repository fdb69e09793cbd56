/** The token of a shared devnet, on every call. */

import type { Interceptor } from "@connectrpc/connect";

export function authorized(token: string | undefined): Interceptor[] {
  if (token === undefined) return [];
  return [
    (next) => (request) => {
      request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    },
  ];
}
