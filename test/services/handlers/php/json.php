<?php
// JSON from the body, the digest compared without regard to case, "OK" as PHP sends a text: as text/html.
$fields = json_decode(file_get_contents('php://input'), true) ?: [];
$expected = md5(($fields['OutSum'] ?? '') . ':' . ($fields['InvId'] ?? '') . ':' . getenv('TOKEN'));
if (!hash_equals($expected, strtolower($fields['SignatureValue'] ?? ''))) {
    http_response_code(403);
    exit('bad sign');
}
if ($fields['InvId'] === 'o-1') file_put_contents(getenv('PAID'), $fields['Status']);
echo 'OK';
