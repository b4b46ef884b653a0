export { InstanceAudit } from './instance-audit.tsx';
export { Nodes } from './nodes.tsx';
export { Projects } from './projects.tsx';
