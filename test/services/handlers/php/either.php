<?php
// Form or JSON, whichever came; an empty 200.
$fields = $_POST ?: json_decode(file_get_contents('php://input'), true);
$expected = strtoupper(md5("$fields[OutSum]:$fields[InvId]:" . getenv('TOKEN')));
if ($expected !== strtoupper($fields['SignatureValue'])) {
    http_response_code(400);
    exit;
}
if ($fields['InvId'] === 'o-1') file_put_contents(getenv('PAID'), $fields['Status']);
