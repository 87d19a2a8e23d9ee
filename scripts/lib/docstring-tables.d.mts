export function docstringTables(
  files: readonly string[],
  column: string,
  rules?: Readonly<Record<string, object>>,
): Promise<string>;
