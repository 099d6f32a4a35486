import { MODULE_ANSWER_MS, type ModuleReply, type ModuleView } from '../../src/domain/module.ts'
import type { Modules } from '../../src/ports.ts'
import type { SimulatedProcess } from './process.ts'

/** A strategy's module: its answer to a snapshot, or an error. */
export type SimulatedModule = (view: ModuleView) => unknown

/** Faults of modules, by the name of the strategy. */
export type ModuleFaults = {
  /** Milliseconds until an answer, in place of a few. */
  lateMs: Map<string, number>
  /** Never answers, or ends its process: the port reports it when the time is up. */
  silent: Set<string>
  /** Gives an answer that no module may give. */
  garbage: Map<string, unknown>
}

export function noModuleFaults(): ModuleFaults {
  return { lateMs: new Map(), silent: new Set(), garbage: new Map() }
}

const LATENCY_MS_MAX = 5

/** Modules in memory: each answers independently, and never later than the port promises. */
export function createSimulatedModules(options: {
  readonly process: SimulatedProcess
  readonly modules: ReadonlyMap<string, SimulatedModule>
  readonly faults: ModuleFaults
}): Modules {
  const { process, modules, faults } = options
  const answer = (name: string, view: ModuleView): ModuleReply => {
    if (faults.garbage.has(name)) return { ok: true, value: faults.garbage.get(name) }
    const module = modules.get(name)
    if (module === undefined) return { ok: false, detail: 'its module was not started' }
    try {
      return { ok: true, value: module(structuredClone(view)) }
    } catch (error) {
      return { ok: false, detail: error instanceof Error ? error.message : String(error) }
    }
  }
  const silence: ModuleReply = {
    ok: false,
    detail: `it did not answer within ${MODULE_ANSWER_MS / 1000} s`,
  }
  return {
    versionOf: ({ name }) => modules.get(name)?.toString(),
    decide({ name }, view) {
      const reply = (): ModuleReply => answer(name, view)
      const lateMs = faults.lateMs.get(name) ?? 0
      if (faults.silent.has(name) || lateMs > MODULE_ANSWER_MS)
        return process.after(MODULE_ANSWER_MS, () => silence)
      return lateMs > 0 ? process.after(lateMs, reply) : process.ask(reply, LATENCY_MS_MAX)
    },
  }
}
