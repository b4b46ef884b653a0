import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate, useParams, useRouter } from '@tanstack/react-router';
import { useMe } from '../data/project.ts';
import { signOut } from '../data/session.ts';
import { Button, IconButton } from '../ui/controls/button.tsx';
import type { Theme } from '../ui/page/theme.ts';
import { Icon, type IconName } from '../ui/text/icon.tsx';
import { Link } from '../ui/text/link.tsx';
import type { TimeStyle } from '../ui/text/time.tsx';
import { INSTANCE_PAGES, useNavigation } from './navigation.ts';
import { useTheme } from './preferences.ts';

interface Props {
  style: TimeStyle;
  setStyle(style: TimeStyle): void;
  onSearch(): void;
  /** A page was chosen. */
  onLeave(): void;
}

export function Sidebar({ style, setStyle, onSearch, onLeave }: Props) {
  const { project } = useParams({ strict: false }) as { project?: string };
  const me = useMe();
  const navigation = useNavigation();
  const role = me.projects.find(({ uid }) => uid === project)?.role;
  return (
    <div className="flex h-full flex-col gap-3 bg-panel p-3">
      <div className="flex items-center justify-between">
        <Link href="/" onClick={onLeave} className="flex h-8 items-center gap-2 px-2 font-semibold">
          <Icon name="horn" className="size-5 text-accent" /> Posthorn
        </Link>
        <span className="flex items-center gap-1">
          <a href="/docs" aria-label="API reference" title="API reference" className="link text-xs">
            API
          </a>
          <ThemeSwitch />
        </span>
      </div>
      <ProjectSwitch />
      {role !== undefined && role !== 'admin' && (
        <p className="-mt-2 px-2 text-xs text-muted">Your role: {role}</p>
      )}
      {project !== undefined && (
        <button
          type="button"
          onClick={onSearch}
          title="/ or Ctrl+K"
          aria-keyshortcuts="/ Control+K Meta+K"
          className="field flex shrink-0 items-center gap-2 text-muted"
        >
          <Icon name="search" className="size-3.5" /> <span className="grow text-left">Search</span>
          <kbd className="font-mono text-xs">/</kbd>
        </button>
      )}
      <nav aria-label="Pages" className="-mx-1 grid min-h-0 grow content-start gap-1.5 overflow-y-auto px-1">
        {project !== undefined &&
          navigation.map(([group, pages]) => (
            <Group
              key={group}
              name={group}
              links={pages.map(([path, name]) => [`/p/${project}/${path}`, name] as const)}
              onLeave={onLeave}
            />
          ))}
        {me.instance_admin && (
          <div className={project === undefined ? '' : 'border-t border-line pt-1.5'}>
            <Group name="Instance" links={INSTANCE_PAGES} onLeave={onLeave} />
          </div>
        )}
      </nav>
      <Preferences style={style} setStyle={setStyle} onLeave={onLeave} />
    </div>
  );
}

function Group({
  name,
  links,
  onLeave,
}: {
  name: string;
  links: readonly (readonly [string, string])[];
  onLeave(): void;
}) {
  const { pathname } = useLocation();
  return (
    <div>
      {name !== '' && <h2 className="px-2 pb-0.5 text-xs font-normal text-muted">{name}</h2>}
      <ul>
        {links.map(([href, text]) => {
          const isHere = pathname === href || pathname.startsWith(`${href}/`);
          return (
            <li key={href}>
              <Link
                href={href}
                onClick={onLeave}
                aria-current={isHere ? 'page' : undefined}
                className={`flex h-8 items-center rounded-md px-2 md:h-6 hover:bg-hover ${isHere ? 'bg-chosen font-semibold' : ''}`}
              >
                {text}
              </Link>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function ProjectSwitch() {
  const { project } = useParams({ strict: false }) as { project?: string };
  const { projects } = useMe();
  const router = useRouter();
  return (
    <select
      aria-label="Project"
      value={project ?? ''}
      onChange={(event) => router.history.push(`/p/${event.target.value}/overview`)}
      className="field shrink-0 font-semibold"
    >
      {project === undefined && <option value="">Choose a project</option>}
      {projects.map(({ uid, name }) => (
        <option key={uid} value={uid}>
          {name}
        </option>
      ))}
    </select>
  );
}

const THEMES: Readonly<Record<Theme, readonly [icon: IconName, next: Theme]>> = {
  system: ['screen', 'light'],
  light: ['sun', 'dark'],
  dark: ['moon', 'system'],
};

function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  const [icon, next] = THEMES[theme];
  return <IconButton icon={icon} label={`Theme: ${theme}`} onClick={() => setTheme(next)} />;
}

function Preferences({ style, setStyle, onLeave }: Pick<Props, 'style' | 'setStyle' | 'onLeave'>) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const me = useMe();
  const leave = async () => {
    await signOut();
    queries.clear();
    void navigate({ to: '/sign-in' });
  };
  return (
    <div className="grid grid-cols-1 gap-2 border-t border-line pt-3">
      <div className="flex items-center gap-1 pl-2 text-xs text-muted">
        <span className="grow">Times</span>
        <Button
          look="quiet"
          className="h-7 px-1.5"
          aria-label={`Times: ${style.exact ? 'exact' : 'relative'}`}
          title={`Show ${style.exact ? 'relative times, such as 3 min ago' : 'exact times'}`}
          onClick={() => setStyle({ ...style, exact: !style.exact })}
        >
          {style.exact ? 'Exact' : 'Relative'}
        </Button>
        <Button
          look="quiet"
          className="h-7 px-1.5"
          aria-label={`Time zone: ${style.utc ? 'UTC' : 'local'}`}
          title={`Show times in ${style.utc ? 'your time zone' : 'UTC'}`}
          onClick={() => setStyle({ ...style, utc: !style.utc })}
        >
          {style.utc ? 'UTC' : 'Local'}
        </Button>
      </div>
      <div className="flex min-w-0 items-center justify-between gap-2 text-xs text-muted">
        {me.person === null ? (
          <span className="truncate px-2">With a key</span>
        ) : (
          <Link href="/account" onClick={onLeave} className="link truncate px-2" title="Your account">
            {me.person}
          </Link>
        )}
        <button type="button" onClick={() => void leave()} className="link shrink-0">
          Sign out
        </button>
      </div>
    </div>
  );
}
