import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import Fastify, { type RouteOptions } from 'fastify';
import { VERSION } from '../platform/version.ts';
import { CSRF_HEADER, SESSION_COOKIE } from './http/access/session-cookie.ts';
import { REFUSAL } from './http/error-handler.ts';
import { withNulls } from './http/validation.ts';
import { nameSchemas } from './reference/name-schemas.ts';
import { answerSchemas, requestSchemas } from './reference/named-schemas.ts';

const namedSchemas: Record<string, object> = {
  ...answerSchemas,
  ...Object.fromEntries(Object.entries(requestSchemas).map(([name, schema]) => [name, withNulls(schema)])),
};

/** Descriptions are also sentences of docs/settings.md, where they link to pages next to it. */
const withoutLinks = <T>(document: T): T =>
  JSON.parse(JSON.stringify(document), (name, value: unknown) =>
    name === 'description' && typeof value === 'string' ? value.replaceAll(LINK, '$1') : value,
  ) as T;

const LINK = /\[([^\]]+)\]\([\w-]+\.md(?:#[\w-]+)?\)/g;

/** How the OpenAPI document is generated from the routes. */
const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Posthorn',
      version: VERSION,
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
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description:
            'The session of a person, which sign-in sets. Its name begins with `__Host-` over https.',
        },
        csrf: {
          type: 'apiKey',
          in: 'header',
          name: CSRF_HEADER,
          description: 'Any value. It shows that a script of the own origin makes this change.',
        },
      },
    },
    security: [{ key: [] }],
  },
  transform: ({ schema, url, route }) => {
    const body = route.config?.body ?? schema?.body;
    return {
      url,
      schema: {
        ...schema,
        ...(typeof body === 'object' && body !== null && { body: withNulls(body) }),
        ...(route.config?.query !== undefined && { querystring: route.config.query }),
      },
    };
  },
  transformObject: (made) =>
    'openapiObject' in made
      ? withoutLinks(nameSchemas(made.openapiObject, namedSchemas))
      : made.swaggerObject,
  refResolver: { buildLocalReference: ({ $id }) => $id as string },
};

export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>;

/** The routes are seen on a server of their own, which never listens. */
export async function makeDocument(routes: readonly DescribedRoute[]): Promise<object> {
  const app = Fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => String);
  app.addSchema(REFUSAL);
  await app.register(swagger, openApiOptions);
  for (const route of routes) app.route({ ...route, handler: () => '' });
  await app.ready();
  const document = app.swagger();
  await app.close();
  return document;
}
