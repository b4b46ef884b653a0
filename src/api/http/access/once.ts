import type { FastifyRequest } from 'fastify';
import type { Made, Once } from '../../../domain/audit.ts';
import type { Sealer } from '../../../platform/sealer.ts';
import { Type } from '../../../platform/type.ts';
import { idempotencyKeyOf } from '../call.ts';
import { callerIdOf } from './caller.ts';

/** The header in the OpenAPI document. Keys are read here, because a schema of headers does not know their case. */
export const IDEMPOTENCY_KEY = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      maxLength: 255,
      description:
        'Makes the call repeatable for a day: it creates once, and later calls get the response again.',
    }),
  ),
});

/** The outcome of the first call, for a repeated one. */
export interface MadeBefore {
  ids: readonly string[];
  /** The id of what it created. */
  id: string;
  /** The secret that its response showed only once. */
  secret: string | null;
}

/** The key counts per credential, project and operation. The path names what else the operation is about. */
export function onceOf(request: FastifyRequest, operation: string): Once | undefined {
  const key = idempotencyKeyOf(request);
  const { caller } = request;
  if (key === undefined || caller === undefined) return undefined;
  const { sealer } = request.server;
  // Keyed: a request may hold a secret that its hash alone would give away. As JSON the parts cannot run into each other.
  const hash = (...parts: string[]) => sealer.lookupHash(JSON.stringify(parts)).toString('base64url');
  const [path = ''] = request.url.split('?');
  const id = hash(callerIdOf(caller), request.project?.id ?? '', operation, path, key);
  return {
    id,
    // A file that was uploaded has no text, but items.
    request: hash(request.url, request.bodyText ?? JSON.stringify(request.body ?? null)),
    seal: (secret) => sealer.seal(secret, place(id)),
  };
}

export function madeBefore(request: FastifyRequest, { ids, sealed, onceId }: Made): MadeBefore {
  const secret = sealed === null ? null : request.server.sealer.open(sealed, place(onceId));
  return { ids, id: ids[0] ?? '', secret };
}

const place = (id: string): string => `idempotency key ${id}`;

declare module 'fastify' {
  interface FastifyInstance {
    sealer: Sealer;
  }
}
