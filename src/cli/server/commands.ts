import type { Config } from '../../settings/settings.ts';
import {
  type Command,
  type Commands,
  connectionFlags,
  type Given,
  type Operand,
  type Run,
} from '../terminal/command.ts';

/** The commands of the server: they read its settings, and its code only when they run. */
type Declared = Omit<Command, 'group' | 'load' | 'examples'> & {
  examples?: readonly string[];
  load(): Promise<Work>;
};

type Work = (config: Config, given: Given) => Promise<void>;

/** It gets the settings of the environment. */
const withConfig =
  (work: Work): Run =>
  async (given) => {
    const { readConfig } = await import('../../settings/settings.ts');
    await work(readConfig(given.env), given);
  };

const server = (name: string, { load, ...command }: Declared): Command => ({
  group: 'Server',
  ...command,
  examples: command.examples ?? [`posthorn ${name}`],
  load: async () => withConfig(await load()),
});

const file = (summary: string): readonly Operand[] => [{ name: 'FILE', summary }];
const project = { value: 'ID|NAME', summary: 'The project.' };
const email = { value: 'EMAIL', summary: 'The address of the person.' };

const doctor: Command = {
  group: 'Server',
  summary: 'Looks at database, clock, partitions, disk, egress, brokers and versions, and says what to do.',
  details:
    'With the address of a service (--url, POSTHORN_URL or a profile) it asks the service instead: whether it is ready, its clock, nodes and brokers.',
  flags: connectionFlags,
  examples: ['posthorn doctor', 'posthorn doctor --url https://posthorn.example.com'],
  load: async () => async (given) => {
    const { namesService, askService } = await import('../remote/doctor.ts');
    if (await namesService(given)) return askService(given);
    return withConfig((await import('./doctor.ts')).doctorCommand)(given);
  },
};

const declared: Record<string, Declared | Command> = {
  serve: {
    summary: 'Runs the service until SIGINT or SIGTERM.',
    load: async () => (await import('./serve.ts')).serve,
  },
  migrate: {
    summary: 'Migrates the database schema to the newest version.',
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  doctor,
  reseal: {
    summary: 'Reseals every stored secret with the current secret key.',
    flags: { 'new-key': { summary: 'First create a new key in the data directory.' } },
    examples: ['posthorn reseal --new-key'],
    load: async () => (await import('./reseal.ts')).resealCommand,
  },
  backup: {
    summary: 'Writes the whole database to a file while the service runs.',
    operands: file('A new file, or a directory for it.'),
    flags: {
      'with-keys': { summary: 'Include the secret key.' },
      cell: { value: 'NAME', summary: 'The cell; the home by default. Each cell has a backup of its own.' },
    },
    examples: ['posthorn backup /var/backups'],
    load: async () => (await import('./backup.ts')).backupCommand,
  },
  restore: {
    summary: 'Restores a backup into a new data directory, or into an empty database at DATABASE_URL.',
    operands: file('The backup.'),
    examples: ['POSTHORN_DATA_DIR=/var/lib/posthorn-new posthorn restore posthorn.backup.gz'],
    load: async () => (await import('./restore.ts')).restoreCommand,
  },
  upgrade: {
    summary: 'Upgrades the embedded database from an older PostgreSQL.',
    flags: { binaries: { value: 'DIRECTORY', summary: 'The programs of the old version.' } },
    examples: ['posthorn upgrade --binaries /tmp/postgres-17'],
    load: async () => (await import('./upgrade.ts')).upgradeCommand,
  },
  'project create': {
    summary: 'Creates a project and prints it with its key as JSON.',
    flags: {
      name: { value: 'NAME', summary: 'The name.' },
      type: { value: 'TYPE', oneOf: ['outgoing', 'incoming'], summary: 'A label; outgoing by default.' },
    },
    examples: ['posthorn project create --name shop'],
    load: async () => (await import('./call-api.ts')).createProjectCommand,
  },
  'project move': {
    summary: 'Moves a project to another cell while it works.',
    details:
      'Its history is copied first. Then its deliveries wait, and it is closed for a moment: calls get 503 with Retry-After. A command that was killed may be run again.',
    operands: [{ name: 'PROJECT', summary: 'The id of the project.' }],
    flags: {
      to: { value: 'NAME', summary: 'The cell that it goes to.' },
      'dry-run': { summary: 'Only check, and count what would be copied.' },
      stop: { summary: 'End a move that is under way. Before the switch the project stays where it was.' },
    },
    examples: ['posthorn project move 01KA0 --to 2', 'posthorn project move 01KA0 --stop'],
    load: async () => (await import('./move-project.ts')).moveProjectCommand,
  },
  'cells add': {
    summary: 'Makes an empty database a cell, which projects can live in.',
    flags: {
      name: { value: 'NAME', summary: 'The name of the cell.' },
      url: { value: 'URL', summary: 'The address of the database.' },
    },
    examples: ['posthorn cells add --name 2 --url postgres://posthorn:secret@db2.example.com/posthorn'],
    load: async () => (await import('./cells.ts')).addCellCommand,
  },
  'cells list': {
    summary: 'Lists the cells.',
    load: async () => (await import('./cells.ts')).listCellsCommand,
  },
  'cells check': {
    summary: 'Looks at each cell: whether it answers, its schema, clock, keys and identity.',
    load: async () => (await import('./cells.ts')).checkCellsCommand,
  },
  'nodes accept-primary': {
    summary: 'Makes the nodes use an old primary of the database in place of a newer one.',
    details:
      'For a primary that came back as the only one. Nodes that have seen a newer one do not use it, because the newer one may only be cut off. Stop the newer one for good first: what it alone has accepted is lost to the service.',
    flags: { cell: { value: 'NAME', summary: 'The cell; the home by default.' } },
    examples: ['posthorn nodes accept-primary', 'posthorn nodes accept-primary --cell 2'],
    load: async () => (await import('./accept-primary.ts')).acceptPrimaryCommand,
  },
  'key create': {
    summary: 'Creates another key of a project and prints it as JSON.',
    flags: {
      project,
      name: { value: 'NAME', summary: 'The name.' },
      'expires-at': { value: 'TIME', summary: 'When it expires, RFC 3339; never by default.' },
    },
    examples: ['posthorn key create --project 01KA0 --name deploy'],
    load: async () => (await import('./call-api.ts')).createKeyCommand,
  },
  'person create': {
    summary: 'Gives a person a role in a project, and prints an invitation link.',
    details: 'Without --project the person administers the instance.',
    flags: {
      email,
      role: {
        value: 'ROLE',
        oneOf: ['admin', 'developer', 'viewer'],
        summary: 'The role; admin by default.',
      },
      project,
      name: { value: 'NAME', summary: 'The name of the person.' },
    },
    examples: ['posthorn person create --email ann@example.com --role developer --project 01KA0'],
    load: async () => (await import('./person.ts')).createPersonCommand,
  },
  'person reset': {
    summary: 'Prints a link with which a person chooses a new password, within an hour.',
    flags: { email, 'second-factor': { summary: 'Also remove the second factor.' } },
    examples: ['posthorn person reset --email ann@example.com'],
    load: async () => (await import('./person.ts')).resetPersonCommand,
  },
  'sign-in-link': {
    summary: 'Prints a link that signs a person in once, within 15 minutes.',
    flags: {
      email: { value: 'EMAIL', summary: 'The person; an administrator of the instance by default.' },
      'second-factor': { summary: 'Also remove the second factor, so that the link needs no code.' },
    },
    load: async () => (await import('./person.ts')).signInLinkCommand,
  },
};

export const serverCommands: Commands = Object.fromEntries(
  Object.entries(declared).map(([name, command]) => [
    name,
    'group' in command ? command : server(name, command),
  ]),
);
