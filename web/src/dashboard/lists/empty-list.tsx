import type { ReactNode } from 'react';
import { type Operation, useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { Button, buttonLook } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { Link } from '../../ui/text/link.tsx';

interface Props {
  /** The noun of a row, such as `endpoint`. */
  noun: string;
  /** Explains the noun in a sentence. */
  text: string;
  isFiltered: boolean;
  onClear(): void;
  /** The operation that adds one, the button for it, and the command that does the same. */
  use: Operation;
  add: ReactNode;
  command?: string;
}

/** A list without rows: filters to clear, a first one to add, or whom to ask and where to look. */
export function EmptyList({ noun, text, isFiltered, onClear, use, add, command }: Props) {
  const { at } = useProject();
  const may = useMay();
  if (isFiltered)
    return (
      <EmptyState title={`No ${noun} matches these filters`} text="Take a filter away to see the others.">
        <Button onClick={onClear}>Clear filters</Button>
      </EmptyState>
    );
  const title = `No ${noun}s yet`;
  if (!may(use))
    return (
      <EmptyState
        title={title}
        text={`${text} Developers of the project add them: ask one of them. You can look at what comes in.`}
      >
        <Link href={at('events')} className={buttonLook()}>
          Show events
        </Link>
      </EmptyState>
    );
  return (
    <EmptyState
      title={title}
      text={`${text} Add one here${command === undefined ? '.' : ', or with the API:'}`}
      {...(command === undefined ? {} : { command })}
    >
      {add}
    </EmptyState>
  );
}
