import type { ServerResponse } from 'node:http';
import type { Character } from '../characters.ts';

/** How an endpoint of each character responds to a request that it has read. */
export interface Answering {
  /** The number of the request on its connection, from one. */
  nth: number;
  /** It has a token of the token server. */
  isAuthorised: boolean;
  /** Called when 200 is sent. */
  acknowledged(): void;
}

const ANSWER_MS = 10;
const SLOW_MS = 400;
const FLAP_MS = 3_000;
const DRIP_MS = 250;
/** The share of requests that `ordered` and `batched` fail. */
const FAILS = 0.15;
/** Requests per connection, if a character limits them. */
const REQUESTS = 3;

export function answer(character: Character, response: ServerResponse, context: Answering): void {
  const { socket } = response;
  const acknowledge = (afterMs = ANSWER_MS) => {
    setTimeout(() => {
      context.acknowledged();
      response.writeHead(200).end('ok');
    }, afterMs);
  };
  switch (character) {
    case 'slow':
      return acknowledge(SLOW_MS);
    case 'flapping':
      if (Math.floor(Date.now() / FLAP_MS) % 2 === 0) return acknowledge();
      response.writeHead(500).end('no');
      return;
    case 'ordered':
    case 'batched':
      if (Math.random() > FAILS) return acknowledge();
      response.writeHead(character === 'batched' && Math.random() > 0.5 ? 413 : 500).end('no');
      return;
    case 'hanging':
      return;
    case 'resetting':
      socket?.resetAndDestroy();
      return;
    case 'garbage':
      socket?.end('\0\x01 this is not HTTP\r\n\r\n');
      return;
    case 'dripping': {
      socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n');
      const drip = setInterval(() => socket?.write('X'), DRIP_MS);
      socket?.once('close', () => clearInterval(drip));
      return;
    }
    case 'continuing':
      response.writeContinue();
      return acknowledge();
    case 'closing':
    case 'once':
      if (context.nth < REQUESTS) return acknowledge();
      socket?.end();
      return;
    case 'authorised':
      if (context.isAuthorised) return acknowledge();
      response.writeHead(401).end('no');
      return;
    case 'connecting':
      if (context.nth >= REQUESTS) response.setHeader('connection', 'close');
      return acknowledge();
    case 'healthy':
    case 'limited':
    case 'subscribed':
    case 'sparse':
      return acknowledge();
  }
}
