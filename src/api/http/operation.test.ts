import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { Caller } from './access/caller.ts';
import { handleError, REFUSAL } from './error-handler.ts';
import { type Operation, operationsOf } from './operation.ts';

const portal: Caller = {
  kind: 'portal',
  linkId: 'l',
  projectId: 'p',
  ownerId: 'me',
  canManage: false,
  canRetry: false,
  canSeeSecrets: false,
  canEditFunctions: false,
  canUseBrokers: false,
  canCreateEvents: false,
  eventTypes: [],
};
const key: Caller = { kind: 'project', keyId: 'k', projectId: 'p', role: 'admin' };

/** The status of a call of one operation by a caller. */
async function call(
  operation: Pick<
    Operation<ReturnType<typeof Type.Unknown>, ReturnType<typeof Type.Integer>>,
    'handle' | 'portal'
  >,
  caller: Caller,
): Promise<number> {
  const app = Fastify();
  app.addSchema(REFUSAL);
  app.setErrorHandler(handleError);
  app.addHook('onRequest', async (request) => {
    request.caller = caller;
    request.project = { id: 'p', config: { signature: { header: 'X' } } } as ProjectRow;
    if (caller.kind === 'portal') request.scope = { ...caller, endpointIds: new Set() };
  });
  operationsOf('t').get(app, '/api/v1/projects/:projectID/things', {
    id: 'things',
    summary: 's',
    message: 'm',
    data: Type.Integer(),
    access: 'viewer',
    ...operation,
  });
  const { statusCode } = await app.inject('/api/v1/projects/p/things');
  await app.close();
  return statusCode;
}

test('an operation that declares nothing is closed to portals and open to keys', async () => {
  const handle = async () => 1;
  expect(await call({ handle }, portal)).toBe(403);
  expect(await call({ handle }, key)).toBe(200);
});

test.each([
  ['resend', { canRetry: true }],
  ['manage', { canManage: true }],
  ['roll_secrets', { canManage: true, canSeeSecrets: true }],
  ['create_events', { canCreateEvents: true }],
] as const)('one that needs the right %s is closed to links without it', async (right, rights) => {
  const handle = async ({ scope }: { scope: unknown }) => (scope === undefined ? 1 : 2);
  expect(await call({ handle, portal: right }, { ...portal, ...rights })).toBe(200);
  for (const lost of Object.keys(rights))
    expect(await call({ handle, portal: right }, { ...portal, ...rights, [lost]: false })).toBe(403);
});

test('one that is open and forgets the scope answers keys, never portals', async () => {
  const forgetful = { handle: async () => 1, portal: 'read' } as const;
  expect(await call(forgetful, portal)).toBe(500);
  expect(await call(forgetful, key)).toBe(200);
});

test('a call has the parameters of its path, and the types know no others', async () => {
  const app = Fastify();
  app.addSchema(REFUSAL);
  app.addHook('onRequest', async (request) => {
    request.caller = key;
    request.project = { id: 'p' } as ProjectRow;
  });
  operationsOf('t').get(app, '/api/v1/projects/:projectID/things/:thingID/parts/:partID', {
    id: 'parts',
    summary: 's',
    message: 'm',
    data: Type.Array(Type.String()),
    access: 'viewer',
    // @ts-expect-error: the path has no :otherID
    handle: async ({ params }) => [params.thingID, params.partID, typeof params.otherID],
  });
  const answer = await app.inject('/api/v1/projects/p/things/a%20b/parts/c');
  await app.close();
  expect(answer.json()).toMatchObject({ data: ['a b', 'c', 'undefined'] });
});
