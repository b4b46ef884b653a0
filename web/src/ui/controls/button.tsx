import { type ComponentProps, useContext } from 'react';
import { Icon, type IconName } from '../text/icon.tsx';
import { OffContext } from './off.ts';

const LOOK = {
  main: 'bg-accent-ground text-on-accent border-transparent hover:brightness-110',
  plain: 'bg-ground border-frame text-ink hover:bg-hover',
  quiet: 'border-transparent text-accent hover:bg-hover',
  danger: 'bg-ground border-bad text-bad hover:bg-bad-ground',
} as const;

export type ButtonLook = keyof typeof LOOK;

const SHAPE =
  'inline-flex items-center justify-center gap-1.5 rounded-md border px-3 font-semibold whitespace-nowrap transition-colors duration-100 disabled:opacity-55';

interface Props extends ComponentProps<'button'> {
  look?: ButtonLook;
  icon?: IconName;
  /** The label while the act is under way, such as "Saving". A button that has one, or sends a form, is off where acts would fail. */
  busy?: string | false | undefined;
}

export function Button({ look = 'plain', icon, busy, children, className = '', ...rest }: Props) {
  const off = useContext(OffContext);
  const isOff = off !== undefined && (busy !== undefined || rest.type === 'submit');
  return (
    <button
      type="button"
      {...rest}
      {...(isOff && { title: off })}
      disabled={rest.disabled === true || typeof busy === 'string' || isOff}
      // Lower ones stand in the rows of a table.
      className={`${/\bh-\d/.test(className) ? '' : 'h-8'} ${SHAPE} ${LOOK[look]} ${className}`}
    >
      {icon !== undefined && <Icon name={icon} />}
      {typeof busy === 'string' ? `${busy}…` : children}
    </button>
  );
}

/** The classes of a link that looks like a button. */
export const buttonLook = (look: ButtonLook = 'plain'): string => `h-8 ${SHAPE} ${LOOK[look]}`;

export function IconButton({
  icon,
  label,
  ...rest
}: ComponentProps<'button'> & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-7 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink ${rest.className ?? ''}`}
    >
      <Icon name={icon} />
    </button>
  );
}

interface RowButtonProps extends ComponentProps<typeof Button> {
  /** The act, such as "Delete". A dialog follows. */
  act: string;
  /** The name of the row, for a screen reader. */
  of: string;
}

/** A button in a row of a table. */
export const RowButton = ({ act, of, ...rest }: RowButtonProps) => (
  <Button className="h-7" aria-label={`${act} ${of}`} {...rest}>
    {act}…
  </Button>
);
