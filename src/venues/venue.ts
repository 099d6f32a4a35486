import type { Hex } from '../domain/money/units.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import type { Closing } from './close.ts'
import type { OrderContext } from './context.ts'
import type { Inspection } from './manual/findings.ts'

/** A venue's part of an order's lifecycle. Each step journals its findings. */
export type Venue<Open extends OpenIntent> = {
  /** One attempt. Returns the intent's end; undefined once an authorization is on record or the daemon drains. */
  attempt(context: OrderContext, open: Open): Promise<Closing | undefined>
  steps(context: OrderContext, open: Open): FollowSteps
  /** Reads the outcome of the recorded authorization once from the chain. */
  resolve(context: OrderContext, open: Open): Promise<unknown>
  /** Evidence for a manual resolution. Journals nothing. */
  inspect(context: OrderContext, open: Open, named: Hex | undefined): Promise<Inspection>
  /** Post-processing before the intent may be closed; false if the daemon stops first. */
  finish(context: OrderContext, open: Open): Promise<boolean>
}

export type FollowSteps = {
  /** The service never answered: resends the same bytes. */
  replay(): Promise<unknown>
  /** The service knows the order: polls its outcome. */
  poll(): Promise<unknown>
  /** The service has ended the order, or is silent: reads the chain. */
  resolve(): Promise<unknown>
}
