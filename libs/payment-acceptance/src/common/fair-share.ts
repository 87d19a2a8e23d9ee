/**
 * Slots shared by several members. None holds more than half of them while there are others, so that a member whose
 * work hangs leaves the rest to the others, whenever they come.
 */
export class FairShare {
  private readonly held = new Map<string, number>();
  private total = 0;

  constructor(readonly places: number) {}

  get taken(): number {
    return this.total;
  }

  remainingFor(member: string, members: number): number {
    const share = members > 1 ? Math.max(1, Math.floor(this.places / 2)) : this.places;
    return Math.max(0, Math.min(share - (this.held.get(member) ?? 0), this.places - this.total));
  }

  acquire(member: string): void {
    this.total += 1;
    this.held.set(member, (this.held.get(member) ?? 0) + 1);
  }

  release(member: string): void {
    this.total -= 1;
    const held = (this.held.get(member) ?? 0) - 1;
    if (held > 0) this.held.set(member, held);
    else this.held.delete(member);
  }
}
