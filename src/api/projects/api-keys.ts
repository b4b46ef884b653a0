import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { createKey, revokeKey } from '../../control/key-changes.ts';
import { found, invalid } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { readRole, roles } from '../../domain/role.ts';
import { oneOf, RequiredText, Type } from '../../platform/type.ts';
import type { ApiKeyRow } from '../../store/config/api-keys.ts';
import { listApiKeys } from '../../store/config/api-keys.ts';
import type { ApiContext } from '../http/context.ts';
import { iso, isoOrNull, Nothing, NullableTime, parseTime, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';

const Role = Type.Object({
  type: Type.String({
    description: '`project_viewer`, `project_developer`, `project_admin` or `instance_admin`.',
  }),
  project: Type.String(),
});

export const ApiKey = Type.Object({
  uid: Type.String(),
  name: Type.String(),
  mask: Type.String({ description: 'The middle part of the key, which identifies it.' }),
  role: Role,
  key_type: Type.String(),
  expires_at: NullableTime,
  last_used_at: NullableTime,
  created_at: Time,
});

export const NewApiKey = Type.Object({
  ...ApiKey.properties,
  key: Type.String({ description: 'The key itself; shown only once.' }),
});

const CreateApiKey = Type.Object({
  name: RequiredText(256),
  role: Type.Optional(oneOf(roles, 'The role of the key; `admin` by default.')),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
});

export function toApiKey(row: ApiKeyRow): Static<typeof ApiKey> {
  return {
    uid: row.id,
    name: row.name,
    mask: row.mask,
    role: {
      type: row.project_id === null ? 'instance_admin' : `project_${readRole(row.role)}`,
      project: row.project_id ?? '',
    },
    key_type: '',
    expires_at: isoOrNull(row.expires_at),
    last_used_at: isoOrNull(row.last_used_at),
    created_at: iso(idTime(row.id)),
  };
}

export function registerApiKeys(app: FastifyInstance, context: ApiContext): void {
  const { db } = context;
  const path = '/api/v1/projects/:projectID/keys';
  const route = operationsOf('Keys');
  route.get(app, path, {
    id: 'listKeys',
    summary: 'List the keys of a project.',
    message: 'Keys fetched',
    data: Type.Array(ApiKey),
    access: 'admin',
    handle: async ({ project }) => showRows(await listApiKeys(db, project.id), toApiKey),
  });
  route.post(app, path, {
    id: 'createKey',
    summary: 'Create another key for a project.',
    body: CreateApiKey,
    status: 201,
    message: 'Key created',
    data: NewApiKey,
    access: 'admin',
    // No key has a higher role than its maker: only administrators make keys.
    handle: async ({ by, body }) => {
      const { role = 'admin' } = body;
      const expiresAtMs = body.expires_at === undefined ? null : parseTime('expires_at', body.expires_at);
      if (expiresAtMs !== null && expiresAtMs <= context.now())
        throw invalid('expires_at', 'must be in the future');
      const wanted = { ...by, name: body.name, role, expiresAtMs };
      const { row, key } = await createKey(context.changes, wanted);
      return { ...toApiKey(row), key };
    },
    again: async ({ project }, { id, secret }) => {
      const keys = await listApiKeys(db, project.id);
      return {
        ...toApiKey(
          found(
            keys.find((row) => row.id === id),
            'key',
            id,
          ),
        ),
        key: secret ?? '',
      };
    },
  });
  route.delete(app, `${path}/:keyID`, {
    id: 'revokeKey',
    summary: 'Revoke a key.',
    message: 'Key revoked',
    data: Nothing,
    access: 'admin',
    handle: ({ by, params }) => revokeKey(context.changes, by, params.keyID),
  });
}
