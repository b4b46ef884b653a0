import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { Button } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { sendCommand } from '../commands.ts';

interface Props {
  noun: string;
  title: string;
  /** Describes the list in sentences. */
  text: string;
  isFiltered: boolean;
  onClear(): void;
}

/** A list of events or deliveries without rows: filters to clear, an event to send, or whom to ask for one. */
export function NoTraffic({ noun, title, text, isFiltered, onClear }: Props) {
  const { id } = useProject();
  const may = useMay();
  if (isFiltered)
    return (
      <EmptyState
        title={`No ${noun} matches these filters`}
        text="Look further back in time, or take a filter away."
      >
        <Button onClick={onClear}>Clear filters</Button>
      </EmptyState>
    );
  if (!may('broadcastEvent'))
    return (
      <EmptyState title={title} text={`${text} Developers of the project send events: ask one of them.`} />
    );
  return (
    <EmptyState
      title={title}
      text={`${text} Run this in the folder where Posthorn was started:`}
      command={sendCommand(id)}
    />
  );
}
