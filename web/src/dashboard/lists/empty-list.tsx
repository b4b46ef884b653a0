import type { ComponentType, ReactNode } from 'react';
import { type Operation, useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { buttonLook } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { Link } from '../../ui/text/link.tsx';

/** How readers add a row to a list. */
export interface Adding {
  /** The operation, and the dialog for it. */
  use: Operation;
  form: ComponentType<{ onClose(): void }>;
  /** Explains the noun in a sentence. */
  text: string;
  /** The command that does the same. */
  command?: string;
}

interface Props {
  noun: string;
  add: Pick<Adding, 'use' | 'text' | 'command'>;
  /** The button that adds one. */
  children: ReactNode;
}

/** A list without rows: a first one to add, or whom to ask and where to look. */
export function EmptyList({ noun, add: { use, text, command }, children }: Props) {
  const { at } = useProject();
  const may = useMay();
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
      {children}
    </EmptyState>
  );
}
