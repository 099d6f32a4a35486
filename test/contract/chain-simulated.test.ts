import { makeSimulatedChainRig } from '../support/simulated-chain-rig.ts'
import { chainContract } from './chain.ts'

chainContract('the simulated chain', makeSimulatedChainRig)
