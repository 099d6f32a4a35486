import { makeSimulatedChainRig } from '../../support/chain/simulated-chain-rig.ts'
import { chainContract } from './chain.ts'

chainContract('the simulated chain', makeSimulatedChainRig)
