import type { OpenIntent } from '../domain/book/state.ts'
import type { Hex } from '../domain/units.ts'
import type { Closing } from './close.ts'
import type { OrderContext } from './context.ts'
import type { Looked } from './settle/findings.ts'

/** What a service is to the one path of an order. Each step journals what it finds. */
export type Venue<Open extends OpenIntent> = {
  /**
   * One attempt of a planned intent. Gives how the intent ends if there is to be no other; nothing once an authorization
   * is on record, or when the daemon drains.
   */
  attempt(context: OrderContext, open: Open): Promise<Closing | undefined>
  /** Following an authorization that may be live. */
  steps(context: OrderContext, open: Open): FollowSteps
  /** Asks the chain once what became of the authorization on record. */
  resolve(context: OrderContext, open: Open): Promise<unknown>
  /** Looks, and journals nothing: for an operator who is to say what became of the authorization on record. */
  look(context: OrderContext, open: Open, named: Hex | undefined): Promise<Looked>
  /** Our own after-work before the intent may be closed; false when the daemon stops before it is done. */
  finish(context: OrderContext, open: Open): Promise<boolean>
}

/** The three things that an authorization on record may need. */
export type FollowSteps = {
  /** The service never answered for it: send the same bytes again. */
  replay(): Promise<unknown>
  /** The service knows it: ask what became of it. */
  poll(): Promise<unknown>
  /** The service is done with it, or silent: ask the chain. */
  resolve(): Promise<unknown>
}
