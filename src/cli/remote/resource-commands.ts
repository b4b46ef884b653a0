import {
  type Command,
  type Flag,
  inGroup,
  type NamedKind,
  type Run,
  type Ungrouped,
} from '../terminal/command.ts';
import {
  data,
  endpointsFlag,
  limit,
  named,
  oneOfKind,
  ownerFlag,
  queryFlag,
  remote,
  secret,
} from '../terminal/shared-flags.ts';

/** The commands of one kind of resource. `load` finds the verbs by name. All but `list` and `create` take one of it. */
function resource(
  [noun, of]: readonly [plural: string, of: NamedKind],
  verbs: Record<string, Pick<Command, 'summary' | 'details' | 'flags' | 'examples'>>,
  load: () => Promise<Readonly<Record<string, Run>>>,
): Record<string, Ungrouped> {
  return Object.fromEntries(
    Object.entries(verbs).map(([verb, declared]) => {
      const loadVerb = async (): Promise<Run> => {
        const run = (await load())[verb];
        if (run === undefined) throw new Error(`${noun} has no ${verb}`);
        return run;
      };
      const operands = verb === 'list' || verb === 'create' ? [] : [oneOfKind(of)];
      return [`${noun} ${verb}`, remote({ operands, ...declared, load: loadVerb })];
    }),
  );
}

const KEEPS = 'Fields that are not named keep their value.';

const endpointFields: Record<string, Flag> = {
  name: { value: 'NAME', summary: 'The name.' },
  to: { value: 'URL', summary: 'The address that deliveries go to.' },
  owner: { value: 'OWNER', summary: 'The customer it belongs to.' },
  secret,
  data,
};
const subscriptionFields: Record<string, Flag> = {
  name: { value: 'NAME', summary: 'The name.' },
  endpoint: named('endpoint', 'The endpoint.'),
  source: named('source', 'Only events of this source.'),
  'event-type': { value: 'GLOB', summary: 'An event type, or a beginning such as invoice.*.', many: true },
  data,
};
const sourceFields: Record<string, Flag> = {
  name: { value: 'NAME', summary: 'The name.' },
  type: {
    value: 'TYPE',
    oneOf: ['http', 'rest_api', 'pub_sub', 'db_change_stream', 'schedule'],
    summary: 'The type.',
  },
  provider: { value: 'NAME', summary: 'A known sender, such as github.' },
  data,
};

export const configCommands = inGroup('Config', {
  ...resource(
    ['endpoints', 'endpoint'],
    {
      list: {
        summary: 'Lists endpoints.',
        flags: { ...queryFlag, ...ownerFlag, limit },
        examples: ['posthorn endpoints'],
      },
      get: { summary: 'Shows an endpoint.', examples: ['posthorn endpoints get 01KA1 --output yaml'] },
      create: {
        summary: 'Creates an endpoint. Without --secret one is generated.',
        flags: endpointFields,
        examples: [
          'posthorn endpoints create --name billing --to https://example.com/hooks --secret env:SECRET',
        ],
      },
      update: {
        summary: 'Changes an endpoint.',
        details: KEEPS,
        flags: endpointFields,
        examples: [`posthorn endpoints update 01KA1 --data '{"rate_limit": 10, "rate_limit_duration": 1}'`],
      },
      delete: {
        summary: 'Deletes an endpoint and its subscriptions.',
        examples: ['posthorn endpoints delete 01KA1'],
      },
      pause: {
        summary: 'Pauses an endpoint. Its deliveries wait.',
        examples: ['posthorn endpoints pause 01KA1'],
      },
      activate: {
        summary: 'Activates a paused or inactive endpoint.',
        examples: ['posthorn endpoints activate 01KA1'],
      },
      roll: {
        summary: 'Rolls the signing secret. The old secret keeps signing until it expires.',
        flags: {
          secret,
          'expire-after': {
            value: 'SECONDS',
            summary: 'How long the old secret keeps signing; not at all by default.',
          },
        },
        examples: ['posthorn endpoints roll 01KA1 --expire-after 86400'],
      },
      test: {
        summary: 'Sends a sample event and shows the attempt. Exit code 1: it failed.',
        examples: ['posthorn endpoints test 01KA1'],
      },
    },
    async () => (await import('./resources.ts')).endpoints,
  ),
  ...resource(
    ['subscriptions', 'subscription'],
    {
      list: {
        summary: 'Lists subscriptions.',
        flags: { ...endpointsFlag, limit },
        examples: ['posthorn subscriptions'],
      },
      get: { summary: 'Shows a subscription.', examples: ['posthorn subscriptions get 01KA4'] },
      create: {
        summary: 'Subscribes an endpoint to event types.',
        flags: subscriptionFields,
        examples: [`posthorn subscriptions create --name invoices --endpoint 01KA1 --event-type 'invoice.*'`],
      },
      update: {
        summary: 'Changes a subscription.',
        details: KEEPS,
        flags: subscriptionFields,
        examples: [`posthorn subscriptions update 01KA4 --event-type 'order.*'`],
      },
      delete: { summary: 'Deletes a subscription.', examples: ['posthorn subscriptions delete 01KA4'] },
      activate: {
        summary: 'Makes a subscription active.',
        examples: ['posthorn subscriptions activate 01KA4'],
      },
      deactivate: {
        summary: 'Makes a subscription inactive. It matches nothing.',
        examples: ['posthorn subscriptions deactivate 01KA4'],
      },
    },
    async () => (await import('./resources.ts')).subscriptions,
  ),
  ...resource(
    ['sources', 'source'],
    {
      list: { summary: 'Lists sources.', flags: { limit }, examples: ['posthorn sources'] },
      get: { summary: 'Shows a source.', examples: ['posthorn sources get 01KA5'] },
      create: {
        summary: 'Creates a source.',
        flags: sourceFields,
        examples: ['posthorn sources create --name github --type http --data @github.json'],
      },
      update: {
        summary: 'Changes a source.',
        details: KEEPS,
        flags: sourceFields,
        examples: ['posthorn sources update 01KA5 --name hooks'],
      },
      delete: {
        summary: 'Deletes a source and its subscriptions.',
        examples: ['posthorn sources delete 01KA5'],
      },
      pause: { summary: 'Disables a source. It takes nothing.', examples: ['posthorn sources pause 01KA5'] },
      activate: { summary: 'Enables a source.', examples: ['posthorn sources activate 01KA5'] },
      test: {
        summary: 'Connects to the broker of a source, without taking messages.',
        examples: ['posthorn sources test 01KA5'],
      },
    },
    async () => (await import('./resources.ts')).sources,
  ),
  ...resource(
    ['portal-links', 'portal link'],
    {
      list: {
        summary: 'Lists portal links.',
        flags: { ...ownerFlag, limit },
        examples: ['posthorn portal-links --owner acme'],
      },
      get: { summary: 'Shows a portal link.', examples: ['posthorn portal-links get 01KA7'] },
      create: {
        summary: 'Creates a portal link for the endpoints of an owner.',
        flags: {
          name: { value: 'NAME', summary: 'The name; the owner by default.' },
          owner: { value: 'OWNER', summary: 'The customer whose endpoints it shows.' },
          'expires-at': { value: 'TIME', summary: 'When it expires, in RFC 3339; never by default.' },
          data,
        },
        examples: [
          'posthorn portal-links create --owner acme',
          `posthorn portal-links create --owner acme --data '{"can_manage_endpoint": false}'`,
        ],
      },
      revoke: {
        summary: 'Revokes a portal link and all its tokens.',
        examples: ['posthorn portal-links revoke 01KA7'],
      },
    },
    async () => (await import('./portal-links.ts')).portalLinks,
  ),
  'event-types list': remote({
    summary: 'Lists event types.',
    examples: ['posthorn event-types'],
    load: async () => (await import('./resources.ts')).listEventTypes,
  }),
});
