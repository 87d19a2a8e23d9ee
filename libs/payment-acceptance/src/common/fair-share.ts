/**
 * Places that several members share: none holds more than half of them, so that one whose work hangs leaves the rest to the
 * others, who may come at any moment. One that has nobody to share with takes all.
 */
export class FairShare {
  private readonly held = new Map<string, number>();

  constructor(private readonly places: number) {}

  /** How many more of the places a member may take. */
  left(member: string, members: number): number {
    const share = members > 1 ? Math.max(1, Math.floor(this.places / 2)) : this.places;
    return Math.max(0, share - (this.held.get(member) ?? 0));
  }

  take(member: string): void {
    this.held.set(member, (this.held.get(member) ?? 0) + 1);
  }

  leave(member: string): void {
    const held = (this.held.get(member) ?? 0) - 1;
    if (held > 0) this.held.set(member, held);
    else this.held.delete(member);
  }
}
