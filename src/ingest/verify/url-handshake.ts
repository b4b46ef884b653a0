/** How a provider's question about a URL is answered. Such a request becomes no event. */
export interface HandshakeAnswer {
  status: 200 | 204;
  type: 'text/plain' | 'application/json';
  body: string;
}

/** The answer to a verified request that only asks about the URL, or null for an ordinary event. */
export type Handshake = (payload: unknown, secret: string) => HandshakeAnswer | null;
