import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { inject } from 'vitest';
import { type LoopbackServer, listenTcp } from './loopback-server.ts';

const CERTIFICATES = join(import.meta.dirname, '../certificates');

/** The authority of the tests' certificates. */
export const CA_FILE = join(CERTIFICATES, 'ca.pem');

/** The test server behind TLS, with one of the tests' certificates. */
export function startDatabaseTls(name: 'endpoint' | 'expired'): Promise<LoopbackServer> {
  const { host, port } = inject('postgres');
  const [cert, key] = ['pem', 'key'].map((ending) => readFileSync(join(CERTIFICATES, `${name}.${ending}`)));
  return listenTcp((socket) => {
    // The client asks for TLS first.
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, cert, key });
      const upstream = connect(join(host, `.s.PGSQL.${port}`));
      for (const [from, to] of [
        [secure, upstream],
        [upstream, secure],
      ] as const)
        from
          .on('error', () => to.destroy())
          .on('close', () => to.destroy())
          .pipe(to);
    });
  });
}
