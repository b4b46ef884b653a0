import { type Command, type Commands, connectionFlags } from '../terminal/command.ts';

const file = { value: 'FILE', summary: 'The file, or - for stdin.', short: 'f' };
const prune = { summary: 'Also delete what has a key and is not in the file.' };

/** The commands on a project as a file. */
export const projectFileCommands: Commands = {
  export: {
    group: 'A project as a file',
    summary:
      'Prints a project as YAML: settings, event types, sources, endpoints, subscriptions and filters.',
    details:
      'Items without a key get one, which is stored. Secrets are left out. Another system is read with CONVOY_API_KEY, SVIX_API_KEY or OUTPOST_API_KEY. Nothing is written there, and what cannot be carried over is listed.',
    flags: {
      from: {
        value: 'SYSTEM',
        oneOf: ['posthorn', 'convoy', 'svix', 'outpost'],
        summary: 'The system to read; posthorn by default.',
      },
      secrets: { value: 'DIRECTORY', summary: 'Write the secrets to files there, which the YAML names.' },
      ...connectionFlags,
    },
    examples: [
      'posthorn export > shop.yaml',
      'posthorn export --from convoy --url https://convoy.example.com --project 01H --secrets secrets > shop.yaml',
      'posthorn export --from svix --url https://api.svix.com --secrets secrets > shop.yaml',
    ],
    load: async () => (await import('./run.ts')).exportProject,
  } satisfies Command,
  plan: {
    group: 'A project as a file',
    summary: 'Shows what apply would change, and every refusal. Exit code 2: something would change.',
    flags: { file, prune, ...connectionFlags },
    examples: ['posthorn plan -f shop.yaml'],
    load: async () => (await import('./run.ts')).plan,
  },
  apply: {
    group: 'A project as a file',
    summary: 'Makes the project as the file says.',
    details:
      'It is refused if the config changed since the last plan of the file. One that was cut off is run again.',
    flags: {
      file,
      prune,
      'config-version': {
        value: 'VERSION',
        summary: 'Only on this version of the config, as plan prints it.',
      },
      ...connectionFlags,
    },
    examples: ['posthorn apply -f shop.yaml'],
    load: async () => (await import('./run.ts')).apply,
  },
};
