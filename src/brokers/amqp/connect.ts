import type { Socket } from 'node:net';
import { type ChannelModel, connect as open, type SocketOptions } from 'amqplib';
import type { AmqpSettings } from '../../domain/config/source.ts';
import type { Logger } from '../../platform/logger.ts';
import type { NetworkContext } from '../module/broker-module.ts';
import { goodbye } from '../module/until-stopped.ts';
import { vettedAddresses, vettedLookup } from '../module/vetted-lookup.ts';
import { connectError } from './amqp-error.ts';

/** The part of the settings that sources and destinations share. */
type AmqpPlace = Pick<AmqpSettings, 'schema' | 'host' | 'port' | 'auth' | 'vhost'>;

const CONNECT_MS = 10_000;
const HEARTBEAT_SECONDS = 30;
/** The client asks for frames of 128 kB at most. */
const MAX_FRAME_BYTES = 262_144;

/**
 * A connection to one of the addresses of the host that the egress rule allows. The name stays the one that the
 * certificate must have.
 */
export async function connect(settings: AmqpPlace, context: NetworkContext): Promise<ChannelModel> {
  const { egress, secureContext, signal } = context;
  // An address is not looked up.
  await vettedAddresses(egress, settings.host);
  // Ends with the handshake: afterwards a stop acknowledges before it closes.
  const opening = new AbortController();
  const abort = () => opening.abort();
  const timer = setTimeout(abort, CONNECT_MS);
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    const socket: SocketOptions & { signal: AbortSignal } = {
      signal: opening.signal,
      timeout: CONNECT_MS,
      noDelay: true,
      keepAlive: true,
      lookup: vettedLookup(egress),
      clientProperties: { connection_name: 'posthorn' },
      ...(settings.schema === 'amqps' && { secureContext: secureContext() }),
    };
    return await open(target(settings), socket);
  } catch (error) {
    throw opening.signal.aborted && !signal.aborted
      ? connectError(new Error('ETIMEDOUT', { cause: error }))
      : connectError(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** The library's types leave out its socket. */
export const socketOf = (model: ChannelModel): Socket =>
  (model.connection as unknown as { stream: Socket }).stream;

export async function closed(model: ChannelModel, log: Logger): Promise<void> {
  const socket = socketOf(model);
  await goodbye(model.close(), log);
  socket.destroy();
}

const target = ({ schema, host, port, auth, vhost }: AmqpPlace) => ({
  protocol: schema,
  hostname: host,
  port: Number(port),
  heartbeat: HEARTBEAT_SECONDS,
  maxFrameSize: MAX_FRAME_BYTES,
  // The client decodes percent signs in it, as Convoy does.
  ...(vhost !== null && { vhost }),
  ...(auth !== null && { username: auth.user, password: auth.password }),
});
