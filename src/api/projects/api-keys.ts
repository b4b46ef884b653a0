import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { createKey, revokeKey } from '../../control/key-changes.ts';
import { found } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { readRole, roles } from '../../domain/role.ts';
import { oneOf, RequiredText, Type } from '../../platform/type.ts';
import { type ApiKeyRow, listApiKeys } from '../../store/config/api-keys.ts';
import type { ChangeContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { iso, isoOrNull, NullableTime, parseFutureTime, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

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

export function registerApiKeys(app: FastifyInstance, context: ChangeContext): void {
  const { db, changes } = context;
  const path = '/api/v1/projects/:projectID/keys';
  const key = crud(app, db, {
    tag: 'Keys',
    noun: 'key',
    path,
    param: 'keyID',
    data: ApiKey,
    access: { read: 'admin', change: 'admin' },
    view: () => toApiKey,
  });
  key.all({
    summary: 'List the keys of a project.',
    read: ({ project }) => listApiKeys(db, project.id),
  });
  operationsOf('Keys').post(app, path, {
    id: 'createKey',
    summary: 'Create another key for a project.',
    body: CreateApiKey,
    status: 201,
    message: 'Key created',
    data: NewApiKey,
    access: 'admin',
    // No key has a higher role than its maker: only administrators make keys.
    handle: async ({ by, body: { name, role = 'admin', expires_at } }) => {
      const expiresAtMs = expires_at ? parseFutureTime('expires_at', expires_at, context.now()) : null;
      const { row, key } = await createKey(changes, { ...by, name, role, expiresAtMs });
      return { ...toApiKey(row), key };
    },
    again: async ({ project }, { id, secret }) => {
      const row = (await listApiKeys(db, project.id)).find((one) => one.id === id);
      return { ...toApiKey(found(row, 'key', id)), key: secret ?? '' };
    },
  });
  key.remove({
    id: 'revokeKey',
    summary: 'Revoke a key.',
    message: 'Key revoked',
    make: ({ by, params }) => revokeKey(changes, by, params.keyID),
  });
}
