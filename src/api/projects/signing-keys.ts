import type { FastifyInstance } from 'fastify';
import { deleteSigningKey, rollSigningKey } from '../../control/signing-key-changes.ts';
import { isLiveKey, type ProjectKey, publicPart } from '../../domain/config/project-key.ts';
import { AppError } from '../../domain/errors.ts';
import { asId, isId, type ProjectId } from '../../domain/ids.ts';
import { Type } from '../../platform/type.ts';
import { publicJwk } from '../../signing/project-key.ts';
import { CallRate } from '../http/access/call-rate.ts';
import type { ChangeContext, ReadContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { NullableTime, Time } from '../http/fields.ts';

/** The keys that a project signs with, for its owner and, as a JSON Web Key Set, for everyone. */
const OVERLAP_SECONDS = 86_400;
const READS_PER_SECOND = 50;
/** Receivers may keep the keys for this long. */
const MAX_AGE_SECONDS = 300;

export const SigningKey = Type.Object({
  kid: Type.String({ description: 'Its name in the JSON Web Key Set.' }),
  public_key: Type.String({ description: '`whpk_` and the base64 of the Ed25519 key.' }),
  created_at: Time,
  expires_at: NullableTime,
});

export const RollSigningKey = Type.Object({
  expiration: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description: 'Seconds for which the key before signs along; a day by default.',
    }),
  ),
});

export function registerSigningKeys(app: FastifyInstance, context: ChangeContext): void {
  const { changes } = context;
  const live = ({ project }: { project: { id: ProjectId } }) => liveKeys(context, project.id);
  const key = crud(app, context.db, {
    tag: 'Projects',
    noun: 'signing key',
    path: '/api/v1/projects/:projectID/signing_keys',
    param: 'kid',
    data: SigningKey,
    access: { read: 'viewer', change: 'admin' },
    get: async (call, id) => (await live(call)).find(({ kid }) => kid === id),
    view: () => publicPart,
  });
  key.all({ summary: 'List the keys that the project signs with.', read: live });
  key.create({
    id: 'rollSigningKey',
    summary: 'Create a key that signs every delivery. The key before it signs along until it expires.',
    body: RollSigningKey,
    make: ({ by, body }) => rollSigningKey(changes, by, body.expiration ?? OVERLAP_SECONDS),
  });
  key.remove({
    summary: 'Delete a signing key. It signs no more, and is no longer published.',
    make: ({ by, params }) => deleteSigningKey(changes, by, params.kid),
  });
}

async function liveKeys({ db, projects, now }: ReadContext, id: ProjectId): Promise<ProjectKey[]> {
  const project = await projects.get(db, id);
  if (project === undefined) throw new AppError('project_not_found', { id });
  return project.keys.reveal().filter((key) => isLiveKey(key, now()));
}

/** Outside of the routes that need a caller: receivers have no key. A read by the project's id, bounded per address. */
export function registerKeySet(app: FastifyInstance, context: ReadContext): void {
  const reads = new CallRate(READS_PER_SECOND);
  app.get(
    '/api/v1/projects/:projectID/.well-known/jwks.json',
    { schema: { hide: true } },
    async (request, reply) => {
      const { projectID: given } = request.params as { projectID: string };
      const id: ProjectId = asId(given);
      const isKnown = isId(given) && !context.cache.isGone(id);
      if (!isKnown) throw new AppError('project_not_found', { id: given });
      reads.count(request.ip);
      const keys = await liveKeys(context, id);
      return reply
        .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
        .header('access-control-allow-origin', '*')
        .type('application/jwk-set+json')
        .serializer(String)
        .send(JSON.stringify({ keys: keys.map(publicJwk) }));
    },
  );
}
