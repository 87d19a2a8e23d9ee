/** A schema migration. Additive only, so that the previous release runs on the newer tables. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}
