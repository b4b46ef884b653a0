import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import { payloadTooLarge } from '../../ingest/request/payload-too-large.ts';
import type { BodyRoom } from './body-room.ts';

/**
 * Reads the body of every request. A body that says it is too large is refused unread; any other takes its place in the
 * room first, and is refused as soon as it has too many bytes. It keeps its place until its response is sent or its
 * connection breaks.
 */
declare module 'fastify' {
  interface FastifyRequest {
    /** Its bytes in the room. */
    place?: Place;
  }
}

/** A body so small takes no place if all of it is here already: it is never waited for. */
const SMALL_BYTES = 64 * 1024;
/** A body without a length takes so much at a time. */
const STEP_BYTES = 256 * 1024;
/**
 * A larger body counts several times: its text and its values take memory too. Next to eight callers with the worst
 * requests, others' p99 was 55 ms above its own instead of 70, because full collections have less to go through.
 */
const LARGE_BYTES = 256 * 1024;
const COPIES_OF_LARGE = 4;
/** Text of the error, for limits that are no setting. */
const BY_SCHEMA = 'the schema of this call';

export function readBodies(app: FastifyInstance, room: BodyRoom): void {
  const enter = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const { raw } = request;
    const declared = declaredBytes(raw);
    const limit = limitOf(request);
    if (declared !== undefined && declared > limit) return done(tooLarge(request, limit));
    if (declared !== undefined && declared <= SMALL_BYTES && raw.readableLength === declared) return done();
    const place = new Place(room, sharerOf(request), declared ?? Math.min(limit, STEP_BYTES));
    request.place = place;
    void takePlace(place, reply.raw, done);
  };
  // The last hook of a route, when project and limit are known. A preParsing hook would cost each request 700 bytes.
  app.addHook('onRoute', (route) => {
    const before = [route.onRequest ?? []].flat();
    // The route of HEAD has the hooks of GET.
    if (!before.includes(enter)) route.onRequest = [...before, enter];
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, stream, done) => {
    if (request.place === undefined) done(null, wholeBody(stream));
    else readBody(request, stream, done);
  });
}

/** All of it is here. The stream is left to end by itself. */
function wholeBody(stream: IncomingMessage): Buffer {
  const body = stream.read() as Buffer | null;
  stream.resume();
  return body ?? Buffer.alloc(0);
}

async function takePlace(
  place: Place,
  response: ServerResponse,
  done: (error?: Error) => void,
): Promise<void> {
  try {
    await place.take(response);
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

/** The bytes of a body in the room. */
class Place {
  readonly #room: BodyRoom;
  readonly #sharer: string;
  #bytes: number;
  #taken: number;

  constructor(room: BodyRoom, sharer: string, bytes: number) {
    this.#room = room;
    this.#sharer = sharer;
    this.#bytes = bytes;
    this.#taken = takenBy(bytes);
  }

  async take(response: ServerResponse): Promise<void> {
    await this.#room.enter(this.#sharer, this.#taken);
    const leave = () => this.#room.leave(this.#sharer, this.#taken);
    // The connection may have broken while it waited. No close event follows then.
    if (response.destroyed || response.closed) leave();
    else response.once('close', leave);
  }

  /** Throws if there is no room for so many. */
  hold(bytes: number): void {
    if (bytes <= this.#bytes) return;
    const grown = Math.max(this.#bytes + STEP_BYTES, bytes);
    const taken = takenBy(grown);
    this.#room.grow(this.#sharer, taken - this.#taken);
    this.#bytes = grown;
    this.#taken = taken;
  }
}

const takenBy = (bytes: number): number => (bytes > LARGE_BYTES ? COPIES_OF_LARGE * bytes : bytes);

function readBody(
  request: FastifyRequest,
  stream: IncomingMessage,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const limit = limitOf(request);
  const chunks: Buffer[] = [];
  let size = 0;
  const end = (error: Error | null) => {
    stream.off('data', take).off('end', end).off('error', end);
    if (error instanceof Error) done(error);
    else done(null, Buffer.concat(chunks, size));
  };
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) return end(tooLarge(request, limit));
    try {
      request.place?.hold(size);
    } catch (error) {
      return end(error as Error);
    }
    chunks.push(chunk);
  };
  stream.on('data', take).on('end', end).on('error', end);
}

/** Undefined: it is sent in chunks. */
function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

const limitOf = (request: FastifyRequest): number => request.bodyLimit ?? request.routeOptions.bodyLimit;

/** Requests of one project share, and without one those of an address. */
const sharerOf = ({ source, project, ip }: FastifyRequest): string =>
  source?.row.project_id ?? project?.id ?? ip;

function tooLarge({ source, server }: FastifyRequest, limit: number): AppError {
  if (source !== undefined) return payloadTooLarge(limit);
  const isMost = limit === server.initialConfig.bodyLimit;
  return new AppError('body_too_large', {
    part: 'request body',
    limit,
    setting: isMost ? 'POSTHORN_MAX_BODY_BYTES' : BY_SCHEMA,
  });
}
