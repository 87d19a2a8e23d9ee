/** A node of a plan that EXPLAIN (ANALYZE, FORMAT JSON) has shown. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows read by each table or index scan. */
export function scans(node: PlanNode): { scan: string; rows: number }[] {
  const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  const scan = `${node['Node Type']} ${node['Index Name'] ?? ''}`;
  return [...(scan.includes('Scan') ? [{ scan, rows }] : []), ...(node.Plans ?? []).flatMap(scans)];
}
