import { connect, type Socket } from 'node:net';

/**
 * Opens a TCP connection to the first of several vetted addresses that answers. The next address is tried
 * when one fails or has not answered within 250 ms (RFC 8305, section 5). The first connection wins and the
 * others are closed.
 */

const NEXT_ADDRESS_MS = 250;
const MAX_ADDRESSES = 6;

export type TcpResult =
  | { kind: 'connected'; socket: Socket; address: string }
  | { kind: 'failed'; error: NodeJS.ErrnoException; address: string }
  | { kind: 'aborted' };

export function tcpConnect(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<TcpResult> {
  return new Promise((resolve) => {
    const race = new Race(addresses.slice(0, MAX_ADDRESSES), port, (result) => {
      signal.removeEventListener('abort', onAbort);
      resolve(result);
    });
    const onAbort = (): void => race.end({ kind: 'aborted' });
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    else race.tryNext();
  });
}

class Race {
  readonly #addresses: readonly string[];
  readonly #port: number;
  readonly #done: (result: TcpResult) => void;
  readonly #running = new Set<Socket>();
  #next = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(addresses: readonly string[], port: number, done: (result: TcpResult) => void) {
    this.#addresses = addresses;
    this.#port = port;
    this.#done = done;
  }

  tryNext(): void {
    clearTimeout(this.#timer);
    const address = this.#addresses[this.#next++];
    if (address === undefined) return;
    const socket = connect({ host: address, port: this.#port, noDelay: true });
    this.#running.add(socket);
    socket.once('connect', () => {
      socket.off('error', onError);
      this.#running.delete(socket);
      this.end({ kind: 'connected', socket, address });
    });
    const onError = (error: Error): void => {
      this.#running.delete(socket);
      this.#failed(error, address);
    };
    socket.on('error', onError);
    if (this.#next < this.#addresses.length) this.#timer = setTimeout(() => this.tryNext(), NEXT_ADDRESS_MS);
  }

  #failed(error: NodeJS.ErrnoException, address: string): void {
    if (this.#ended) return;
    if (this.#next < this.#addresses.length) this.tryNext();
    else if (this.#running.size === 0) this.end({ kind: 'failed', error, address });
  }

  end(result: TcpResult): void {
    if (this.#ended) {
      if (result.kind === 'connected') result.socket.destroy();
      return;
    }
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const socket of this.#running) socket.destroy();
    this.#done(result);
  }
}
