import { type Described, schemasOf } from './catalogue.ts';

/** The catalogue of a project for machines: OpenAPI 3.1 for receivers of webhooks, AsyncAPI 3 for consumers of events. */
export interface Catalogue {
  title: string;
  /** Goes up with every change of the project's config. */
  version: string;
  types: readonly Described[];
}

const SIGNED = {
  'webhook-id': 'Id that all attempts of a delivery have.',
  'webhook-timestamp': 'When this attempt was signed, in seconds since 1970.',
  'webhook-signature': 'Signatures of Standard Webhooks, separated by spaces.',
};

export function openApiOf({ title, version, types }: Catalogue): Record<string, unknown> {
  const parameters = Object.entries(SIGNED).map(([name, description]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  }));
  return {
    openapi: '3.1.0',
    info: { title, version },
    webhooks: Object.fromEntries(
      types.map((type) => [type.name, { post: { ...openApiOperation(type), parameters } }]),
    ),
    components: { schemas: schemasOf(types) },
  };
}

function openApiOperation(type: Described): Record<string, unknown> {
  const content = {
    schema: type.schema === null ? {} : { $ref: `#/components/schemas/${type.id}` },
    ...(type.schema !== null && { example: type.example }),
  };
  return {
    operationId: type.id,
    ...(type.category !== '' && { tags: [type.category] }),
    ...(type.description !== '' && { description: type.description }),
    ...(type.isDeprecated && { deprecated: true }),
    requestBody: { required: true, content: { 'application/json': content } },
    responses: { '2XX': { description: 'Received. Any other answer is tried again.' } },
  };
}

export function asyncApiOf({ title, version, types }: Catalogue): Record<string, unknown> {
  const message = (id: string) => ({ $ref: `#/components/messages/${id}` });
  return {
    asyncapi: '3.0.0',
    info: { title, version },
    defaultContentType: 'application/json',
    channels: {
      webhooks: {
        // Each endpoint has a URL of its own.
        address: null,
        description: 'Webhooks to the endpoints of subscribers.',
        messages: Object.fromEntries(types.map(({ id }) => [id, message(id)])),
      },
    },
    operations: Object.fromEntries(
      types.map(({ id }) => [
        id,
        {
          action: 'send',
          channel: { $ref: '#/channels/webhooks' },
          messages: [{ $ref: `#/channels/webhooks/messages/${id}` }],
        },
      ]),
    ),
    components: {
      messages: Object.fromEntries(types.map((type) => [type.id, asyncApiMessage(type)])),
      schemas: schemasOf(types),
    },
  };
}

function asyncApiMessage(type: Described): Record<string, unknown> {
  const properties = Object.fromEntries(
    Object.entries(SIGNED).map(([name, description]) => [name, { type: 'string', description }]),
  );
  return {
    name: type.name,
    title: type.name,
    ...(type.description !== '' && { description: type.description }),
    ...(type.category !== '' && { tags: [{ name: type.category }] }),
    ...(type.isDeprecated && { 'x-deprecated': true }),
    headers: { type: 'object', properties },
    payload: type.schema === null ? {} : { $ref: `#/components/schemas/${type.id}` },
    ...(type.schema !== null && { examples: [{ payload: type.example }] }),
  };
}
