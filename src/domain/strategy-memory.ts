/** What a strategy remembers from one slot to the next: short texts by name, journaled with the slot that wrote them. */
export type StrategyMemory = Readonly<Record<string, string>>

export const NO_MEMORY: StrategyMemory = {}
