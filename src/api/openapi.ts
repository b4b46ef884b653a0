import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { nameSchemas } from './reference/name-schemas.ts';
import { namedSchemas } from './reference/named-schemas.ts';

/** How the OpenAPI document is generated from the routes. */
export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Posthorn',
      version: '1.0.0',
      description:
        'Takes events in and delivers them as webhooks: signed, retried, rate limited, recorded, visible.\n\nOperations with `x-acts` refuse unknown query parameters and body fields with 400. Other operations name them in `warnings`, or refuse them under `X-Posthorn-Strict: true`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        key: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The API key, bare or as `Bearer <key>`.',
        },
      },
    },
    security: [{ key: [] }],
  },
  transform: ({ schema, url, route }) => ({
    url,
    schema: {
      ...schema,
      ...(route.config?.query !== undefined && { querystring: route.config.query }),
    },
  }),
  transformObject: (made) =>
    'openapiObject' in made ? nameSchemas(made.openapiObject, namedSchemas) : made.swaggerObject,
  refResolver: { buildLocalReference: ({ $id }) => $id as string },
};
