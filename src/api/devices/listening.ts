import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { connectDevice } from '../../control/device-changes.ts';
import { AppError, wrongState } from '../../domain/errors.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import type { PulledDelivery, PullResult } from '../../domain/pull-service.ts';
import { standardWebhooksSecret } from '../../signing/signing-secrets.ts';
import { toDevice } from '../endpoints/device-schema.ts';
import { toPulled } from '../endpoints/pull.ts';
import { requireAccess } from '../http/access/access.ts';
import type { Authenticator } from '../http/access/auth.ts';
import type { ApiContext } from '../http/context.ts';
import { type ListenMessage, readMessage } from './listen-message.ts';

/**
 * One connection of a device. States:
 *   new       -> waits for the message `listen`, FIRST_MS at most;
 *   listening -> takes deliveries while fewer than `max` have no result, and while the socket keeps up. Results that come
 *                while others are recorded are recorded together, and each is acknowledged;
 *   ended     -> the socket is closed. Deliveries without a result go back to the queue without an attempt.
 *
 * A delivery leaves memory when its result comes or its lease ends.
 */
export interface ListeningDeps extends ApiContext {
  authenticator: Authenticator;
  socket: WebSocket;
  request: FastifyRequest;
  callerId: string;
}

const FIRST_MS = 10_000;
const LEASE_SECONDS = 30;
const PULL_MS = 20_000;
const TAKEN_AT_ONCE = 20;
/** Results that wait to be recorded. A program that sends more than it was given is cut off. */
const MAX_RESULTS_WAITING = 200;
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const LOOK_AGAIN_MS = 1_000;
const MISSED_PONGS = 2;
const CLOSE = { refused: 1008, again: 1001, failed: 1011, later: 1013 } as const;
/** A program that does not close its side is cut off. */
const LAST_WORDS_MS = 5_000;

/** Says why, and closes the socket. */
export function refuse(socket: WebSocket, { code, message, retryAfterSeconds }: AppError): void {
  send(socket, { type: 'error', code, message });
  socket.close(retryAfterSeconds === undefined ? CLOSE.refused : CLOSE.later, code);
  const cut = setTimeout(() => socket.terminate(), LAST_WORDS_MS).unref();
  socket.once('close', () => clearTimeout(cut));
}

function send(socket: WebSocket, message: object, written?: () => void): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message), written);
}

export class Listening {
  readonly #deps: ListeningDeps;
  readonly #over = new AbortController();
  /** By lease. */
  readonly #unanswered = new Map<string, PulledDelivery>();
  /** Results that wait to be recorded. */
  #results: PullResult[] = [];
  #recording: Promise<void> | undefined;
  #taking: Promise<void> | undefined;
  #max = 0;
  /** Ends the wait for room. */
  #wake: () => void = () => {};
  #pingsMissed = 0;
  deviceId: EndpointId | null = null;

  constructor(deps: ListeningDeps) {
    this.#deps = deps;
    const { socket } = deps;
    const impatient = setTimeout(() => this.#refuse(new AppError('request_timeout')), FIRST_MS);
    socket.once('message', () => clearTimeout(impatient));
    socket.once('close', () => clearTimeout(impatient));
    socket.on('pong', () => {
      this.#pingsMissed = 0;
    });
    socket.on('message', (data, isBinary) => this.#message(data, isBinary));
  }

  /** A caller whose key was revoked is cut off, and so is a socket that no longer answers. */
  ping(): void {
    const { socket, authenticator, request, log } = this.#deps;
    if (this.#pingsMissed >= MISSED_PONGS) {
      socket.terminate();
      return;
    }
    this.#pingsMissed += 1;
    socket.ping();
    authenticator
      .enter(request)
      .then((caller) => requireAccess(caller, 'developer', request.project))
      .catch((error: unknown) => {
        // A database that is away says nothing about the caller.
        if (error instanceof AppError && error.status < 500) this.#refuse(error);
        else
          log.debug(
            { err: error },
            'could not look at the caller of a listening connection; looking again in 10 s',
          );
      });
  }

  /** The device was deleted or switched off: the program connects again, or not. */
  cut(): void {
    this.#deps.socket.close(CLOSE.again, 'the device is no longer active');
  }

  /** Gives back what has no result. */
  async end(): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#wake();
    await this.#taking;
    await this.#recording;
    const left = [...this.#unanswered.values()];
    this.#unanswered.clear();
    const { pull, request, log } = this.#deps;
    const release = pull.release(this.#projectId(request), left);
    await release.catch((error: unknown) =>
      log.debug({ err: error }, 'failed to give back deliveries of a device; their leases end'),
    );
  }

  #projectId({ project }: FastifyRequest): ProjectId {
    return project?.id as ProjectId;
  }

  #message(data: RawData, isBinary: boolean): void {
    try {
      if (isBinary) throw new AppError('bad_json', { detail: 'messages are text frames' });
      const message = readMessage((data as Buffer).toString(), this.#deps.now());
      if (message.type === 'listen') this.#listen(message);
      else this.#result(message.result);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #listen(message: ListenMessage): void {
    if (this.#taking !== undefined) throw wrongState('The connection listens already.');
    this.#max = message.max;
    this.#taking = this.#begin(message).catch((error: unknown) => this.#refuse(error));
  }

  async #begin(message: ListenMessage): Promise<void> {
    const { changes, replayer, request, callerId, now } = this.#deps;
    const projectId = this.#projectId(request);
    const { device, subscriptionId, secret } = await connectDevice(changes, {
      ...message,
      projectId,
      callerId,
    });
    this.deviceId = device.id;
    const matched =
      message.sinceMs === null
        ? 0
        : await replayer.forDevice(projectId, { id: device.id, fromMs: message.sinceMs });
    this.#send({
      type: 'ready',
      device: toDevice(device, now()),
      subscription_id: subscriptionId,
      secret,
      standard_webhooks_secret: standardWebhooksSecret(secret),
      matched,
    });
    await this.#take({ projectId, endpointId: device.id });
  }

  async #take(at: { projectId: ProjectId; endpointId: EndpointId }): Promise<void> {
    const { pull, socket } = this.#deps;
    const { signal } = this.#over;
    while (!signal.aborted) {
      this.#forgetEnded();
      const room = Math.min(TAKEN_AT_ONCE, this.#max - this.#unanswered.size);
      if (room < 1 || socket.bufferedAmount > MAX_BUFFERED_BYTES) {
        await this.#woken(this.#untilLeaseEnds());
        continue;
      }
      const startedAt = performance.now();
      const request = { ...at, max: room, waitMs: PULL_MS, leaseSeconds: LEASE_SECONDS };
      const taken = await pull.pull(request, signal);
      for (const delivery of taken) {
        this.#unanswered.set(delivery.lease, delivery);
        this.#send({ type: 'delivery', ...toPulled(delivery) });
      }
      // A pull that ends early without anything: this node stops, or the config is not read yet.
      if (taken.length === 0 && performance.now() - startedAt < LOOK_AGAIN_MS)
        await this.#woken(LOOK_AGAIN_MS);
    }
  }

  /** Resolves when a result was recorded, a message was written out, the connection ended, or after `ms`. */
  #woken(ms: number): Promise<void> {
    if (this.#over.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), ms);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve();
      };
    });
  }

  /** The time until the first lease ends, which makes room. */
  #untilLeaseEnds(): number {
    const ends = [...this.#unanswered.values()].map(({ leasedUntilMs }) => leasedUntilMs);
    const ms = Math.min(...ends) + 1 - this.#deps.now();
    return Math.min(Math.max(1, ms), LEASE_SECONDS * 1000);
  }

  #forgetEnded(): void {
    const now = this.#deps.now();
    for (const [lease, { leasedUntilMs }] of this.#unanswered)
      if (leasedUntilMs < now) this.#unanswered.delete(lease);
  }

  #result(result: PullResult): void {
    const { deviceId } = this;
    if (deviceId === null) throw wrongState('Send listen before results.');
    if (this.#results.length === MAX_RESULTS_WAITING) throw new AppError('overloaded', { retry: 1 });
    this.#results.push(result);
    this.#recording ??= this.#record(deviceId).finally(() => {
      this.#recording = undefined;
    });
  }

  async #record(endpointId: EndpointId): Promise<void> {
    const { pull, request } = this.#deps;
    while (this.#results.length > 0) {
      const results = this.#results;
      this.#results = [];
      try {
        const states = await pull.report({ projectId: this.#projectId(request), endpointId }, results);
        for (const [n, { id: uid, lease }] of results.entries()) {
          this.#unanswered.delete(lease);
          this.#send({ type: 'recorded', uid, lease, state: states[n] ?? 'unknown' });
        }
        this.#wake();
      } catch (error) {
        this.#refuse(error);
      }
    }
  }

  #send(message: object): void {
    send(this.#deps.socket, message, () => this.#wake());
  }

  #refuse(error: unknown): void {
    const { socket, log, request } = this.#deps;
    if (error instanceof AppError) return refuse(socket, error);
    log.error({ err: error, request: request.id }, 'a listening connection failed');
    this.#send({
      type: 'error',
      code: 'internal',
      message: new AppError('internal', { request: request.id }).message,
    });
    socket.close(CLOSE.failed, 'internal');
  }
}
