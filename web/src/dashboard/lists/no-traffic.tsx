import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { EmptyState } from '../../ui/page/states.tsx';
import { sendCommand } from '../commands.ts';

/** A list of events or deliveries without rows: an event to send, or whom to ask for one. */
export function NoTraffic({ title, text }: { title: string; text: string }) {
  const { id } = useProject();
  const more = useMay()('broadcastEvent')
    ? { text: `${text} Run this in the folder where Posthorn was started:`, command: sendCommand(id) }
    : { text: `${text} Developers of the project send events: ask one of them.` };
  return <EmptyState title={title} {...more} />;
}
