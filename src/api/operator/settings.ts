import type { FastifyInstance } from 'fastify';
import { nullable, Type } from '../../platform/type.ts';
import type { ReadContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';

export const InstanceSetting = Type.Object({
  name: Type.String({ description: 'The environment variable.' }),
  value: nullable(Type.String(), 'The value in use, as it is given in the environment. Null for secrets.'),
  is_set: Type.Boolean({ description: 'Whether the environment sets it.' }),
  default: Type.String(),
  description: Type.String(),
});

/** The settings of the node that answers. They are read at its start and cannot be changed while it runs. */
export function registerInstanceSettings(app: FastifyInstance, { settings }: ReadContext): void {
  operationsOf('Nodes').get(app, '/api/v1/settings', {
    id: 'listSettings',
    summary: 'List the settings of the node that answers. Secrets are left out.',
    message: 'Settings fetched',
    data: Type.Array(InstanceSetting),
    access: 'instance',
    handle: async () =>
      settings.map(({ name, value, isSet, fallback, description }) => ({
        name,
        value,
        is_set: isSet,
        default: fallback,
        description,
      })),
  });
}
