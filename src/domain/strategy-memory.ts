/** A strategy's memory between slots: short texts by name, journaled with the slot that wrote them. */
export type StrategyMemory = Readonly<Record<string, string>>

export const NO_MEMORY: StrategyMemory = {}
