import type { FastifyInstance } from 'fastify';
import { Admission } from '../../domain/admission.ts';
import { AppError } from '../../domain/errors.ts';
import { Loop } from '../../platform/loop.ts';
import { seeDevices } from '../../store/config/devices.ts';
import { SEEN_EVERY_MS } from '../endpoints/device-schema.ts';
import { requireAccess } from '../http/access/access.ts';
import type { Authenticator } from '../http/access/auth.ts';
import { callerIdOf } from '../http/access/caller.ts';
import type { ApiContext, ReadContext } from '../http/context.ts';
import { Listening, refuse } from './listening.ts';
import { WebSockets } from './web-sockets.ts';

/** A result with the largest body, in base64, and its headers. */
const MAX_MESSAGE_BYTES = 262_144;
const CONNECTIONS = { what: 'listening connections', caller: 100, project: 200, node: 1_000 };

/** Programs that listen over a WebSocket. The messages are in docs/listen.md. */
export function registerListen(
  app: FastifyInstance,
  context: ApiContext & { authenticator: Authenticator },
): void {
  const open = new Set<Listening>();
  const room = new Admission(CONNECTIONS);
  const sockets = new WebSockets(app, MAX_MESSAGE_BYTES);
  const seen = new Loop({
    turn: () => seeConnected(context, open),
    onError: (error) =>
      context.log.warn({ err: error }, 'could not note connected devices; retrying in 10 s'),
    everyMs: SEEN_EVERY_MS,
  });
  seen.start();
  app.addHook('preClose', async () => {
    await seen.stop();
    await Promise.all([...open].map((listening) => listening.end()));
  });
  app.get('/api/v1/projects/:projectID/listen', { schema: { hide: true } }, async (request, reply) => {
    const { caller, project } = request;
    if (caller === undefined || caller.kind === 'portal')
      throw new AppError('portal_forbidden', { what: 'listening' });
    requireAccess(caller, 'developer', project);
    const socket = await sockets.open(request, reply);
    // Without a listener an error would end the process, also on a socket that is refused.
    socket.on('error', (error) => context.log.debug({ err: error }, 'a listening connection failed'));
    const callerId = callerIdOf(caller);
    let leave: () => void;
    try {
      leave = room.enter({ callerId, projectId: project?.id ?? '' });
    } catch (error) {
      // A client cannot read why an upgrade was refused. The open socket can say it.
      if (!(error instanceof AppError)) throw error;
      return refuse(socket, error);
    }
    const listening = new Listening({ ...context, socket, request, callerId });
    open.add(listening);
    socket.once('close', () => {
      leave();
      open.delete(listening);
      void listening.end();
    });
  });
}

/** One statement notes all devices of this node. A device that was deleted or switched off is cut off. */
async function seeConnected({ db }: ReadContext, open: ReadonlySet<Listening>): Promise<void> {
  const connected = [...open].filter(({ deviceId }) => deviceId !== null);
  for (const listening of open) listening.ping();
  if (connected.length === 0) return;
  const active = await seeDevices(
    db,
    connected.map(({ deviceId }) => deviceId as string),
  );
  for (const listening of connected) if (!active.has(listening.deviceId as string)) listening.cut();
}
