// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

interface IProposer {
    function onCall(address _target, bytes calldata _data, uint256 _value) external returns (bool);
}

/// @notice Executes calls of several accounts in one transaction. Each call runs through the proposer code of its account,
/// so every target sees the account itself as its caller.
contract ProposerMulticall {
    /// @param gasLimit gas that the account's code may use for this call, including its own checks
    struct Call {
        address account;
        address target;
        bytes data;
        uint256 value;
        uint256 gasLimit;
    }

    address public immutable operator;

    /// @notice Gas of each call of a batch, in order. The event names no accounts: they are only in the transaction's input.
    event InternalGasUsed(uint256[] gasUsed);

    error OnlyOperator();
    error NotDelegated(uint256 index, address account);
    error CallFailed(uint256 index, address account, bytes reason);
    error GasLimitExceeded();

    constructor(address operator_) {
        operator = operator_;
    }

    /// @notice Executes all calls or none. A call that fails, or exceeds its gas limit, reverts the whole batch.
    function execute(Call[] calldata calls) external {
        if (msg.sender != operator) revert OnlyOperator();
        uint256[] memory gasUsed = new uint256[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) gasUsed[i] = _execute(i, calls[i]);
        emit InternalGasUsed(gasUsed);
    }

    function _execute(uint256 index, Call calldata item) private returns (uint256 gasUsed) {
        // A call to an address without code succeeds and does nothing.
        if (item.account.code.length == 0) revert NotDelegated(index, item.account);
        uint256 gasBefore = gasleft();
        (bool success, bytes memory answer) =
            item.account.call(abi.encodeCall(IProposer.onCall, (item.target, item.data, item.value)));
        gasUsed = gasBefore - gasleft();
        if (!success || answer.length != 32 || !abi.decode(answer, (bool))) {
            revert CallFailed(index, item.account, answer);
        }
        if (gasUsed > item.gasLimit) revert GasLimitExceeded();
    }
}
