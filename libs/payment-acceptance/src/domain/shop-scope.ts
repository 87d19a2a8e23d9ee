/** What somebody may see and do: that of one shop, by its name; `null` for all shops. */
export type ShopScope = string | null;
